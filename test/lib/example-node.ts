import type { RouteExample } from '../../src/server/docs/route-examples.ts';
import { type NodeProcess, tempDir, WITH_WALLET } from './node-process.ts';
import { MINING_ADDRESS, startFreePeer } from './peer-node.ts';
import { TestPeer } from './test-peer.ts';
import { WebhookReceiver } from './webhook-receiver.ts';

/** The parts of a request that a preparation fills in. */
interface Prepared extends Pick<RouteExample, 'path' | 'query' | 'body'> {
  /** The credentials of a request that has no key. */
  readonly headers?: Readonly<Record<string, string>>;
}

type Txids = Readonly<Record<'payment' | 'unconfirmed' | 'replaced', string>>;

/** The address that the examples name beside the first account of the sandbox. */
const OTHER_ADDRESS = 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080';

/** A sandbox as `obverse start --dev` starts it, with a peer and a payment of each kind, for the examples. */
export class ExampleNode implements AsyncDisposable {
  readonly node: NodeProcess;
  /** Address of the listener for peers. */
  readonly address: string;
  readonly #peer: TestPeer;
  readonly #receiver = new WebhookReceiver();
  readonly #txids: Txids;

  private constructor(node: NodeProcess, address: string, peer: TestPeer, txids: Txids) {
    this.node = node;
    this.address = address;
    this.#peer = peer;
    this.#txids = txids;
  }

  static async start(): Promise<ExampleNode> {
    // Blocks come when they are asked for, so that no reply changes between two requests.
    const dev = ['--dev', '--dev.interval=86400', '--index.spender=true', '--webhooks.allowedNetworks=127.0.0.1'];
    const { node, address } = await startFreePeer({ datadir: tempDir(), args: [...dev, WITH_WALLET] });
    const peer = await TestPeer.join(address);
    await node.height(110);
    await node.until('payments', async () => (await node.api.rpc<string[]>('getrawmempool')).length > 2);
    const mine = () => node.api.rpc<string[]>('generatetoaddress', [1, MINING_ADDRESS]);
    // The first payments spend many of the mature coinbases. In a block they leave coins for the others.
    const [hash] = await mine();
    const own = await node.api.rpc<string>('getnewaddress', ['deposits']);
    for (let coins = 0; coins < 4; coins++) await node.api.rpc('devpay', [own, 0.25]);
    await mine();
    const { txids } = await node.api.json<{ txids: readonly string[] }>(`/api/block/${hash}`);
    const { txid: replaced } = await node.api.rpc<{ txid: string }>('devdoublespend', []);
    const unconfirmed = await node.api.rpc<string>('devpay', [OTHER_ADDRESS, 0.5]);
    return new ExampleNode(node, address, peer, { payment: txids[1]!, unconfirmed, replaced });
  }

  /** Prepares the node for an example. Returns the parts of its request that are other ones on each node. */
  async prepare({ path, needs }: RouteExample): Promise<Prepared> {
    const prepared = await this.#prepared(needs);
    return { ...prepared, ...(prepared.path && { path: { ...path, ...prepared.path } }) };
  }

  async #prepared(needs: string | undefined): Promise<Prepared> {
    switch (needs) {
      case undefined:
      case 'mempool':
        return {};
      case 'payment':
      case 'unconfirmed':
      case 'replaced':
        return { path: { txid: this.#txids[needs] } };
      case 'signed':
        return { body: { tx: await this.#signed() } };
      case 'signedList':
        return { body: { txs: [await this.#signed()] } };
      case 'descriptor':
        return { body: { descriptor: await this.#descriptor(), gapLimit: 20 } };
      case 'watch':
        return { path: { id: await this.#watch() } };
      case 'watches':
        await this.#watch();
        return {};
      case 'watchList':
        return { body: { ids: [await this.#watch()] } };
      case 'webhook':
        return { path: { id: await this.#webhook('https://shop.example/obverse') } };
      case 'webhooks':
        await this.#webhook('https://shop.example/obverse');
        return {};
      case 'receiver':
        return { path: { id: await this.#webhook(this.#receiver.url) } };
      case 'ticket':
        return { query: { ticket: (await this.#post<{ ticket: string }>('/api/ws-ticket', undefined)).ticket } };
      case 'code':
        return { body: { code: await this.#code() } };
      case 'key':
        await this.node.api.rpc('createapikey', ['block explorer']);
        return {};
      case 'session':
        return { headers: await this.#session() };
      default:
        throw new Error(`no preparation has the name ${needs}: add it to test/lib/example-node.ts`);
    }
  }

  async #code(): Promise<string> {
    return (await this.node.api.rpc<{ code: string }>('createlogincode')).code;
  }

  /** The headers of a page with a new session. */
  async #session(): Promise<Record<string, string>> {
    const { url } = this.node.api;
    const reply = await fetch(`${url}/api/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code: await this.#code() }),
    });
    const cookie = reply.headers.get('set-cookie')!.split(';', 1)[0]!;
    const session = await fetch(`${url}/api/session`, { headers: { cookie } });
    const { csrfToken } = (await session.json()) as { csrfToken: string };
    return { cookie, origin: url, 'x-csrf-token': csrfToken };
  }

  /** The receiving and change addresses of the wallet. */
  async #descriptor(): Promise<string> {
    const { descriptors } = await this.node.api.rpc<{ descriptors: { desc: string }[] }>('listdescriptors');
    const receiving = descriptors.find(({ desc }) => desc.startsWith('wpkh(') && desc.includes('/0/*)'))!.desc;
    return receiving.replace(/\/0\/\*\)#.*$/, '/<0;1>/*)');
  }

  /** A payment of the wallet that the mempool does not have. */
  async #signed(): Promise<string> {
    const options = [{ [OTHER_ADDRESS]: 0.1 }, null, 'unset', 2, { add_to_wallet: false, lock_unspents: true }];
    return (await this.node.api.rpc<{ hex: string }>('send', options)).hex;
  }

  async #watch(): Promise<string> {
    const address = await this.node.api.rpc<string>('getnewaddress', []);
    const body = { kind: 'address', value: address, confirmations: [1, 6], label: 'deposits' };
    return (await this.#post<{ id: string }>('/api/watches', body)).id;
  }

  async #webhook(url: string): Promise<string> {
    const body = { url, types: ['addressTransaction', 'confirmation', 'reorg'], label: 'deposits' };
    return (await this.#post<{ id: string }>('/api/webhooks', body)).id;
  }

  async #post<T>(path: string, body: unknown): Promise<T> {
    const {
      status,
      text,
      body: reply,
    } = await this.node.api.request<T>(path, {
      method: 'POST',
      ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
    return reply;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#receiver[Symbol.dispose]();
    await this.node.stop();
    await this.#peer.closed;
  }
}
