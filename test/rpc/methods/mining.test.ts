import { beforeAll, describe, expect, test } from 'bun:test';
import type { NetworkParams } from '../../../src/params/network-params.ts';
import { regtest } from '../../../src/params/regtest.ts';
import type { NodeStatus } from '../../../src/port/node-port.ts';
import { describeWithVectors, idleNode, mixedChainDir, startTestApi } from '../../lib/chain-api.ts';
import { chainWithCoins } from '../../lib/chain-builder.ts';
import { hexOf, idOf, mempoolLoaded } from '../../lib/mempool-node.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../../lib/node-process.ts';
import { MINING_ADDRESS } from '../../lib/peer-node.ts';
import { coinOf, spend, sweep, withBadSignature } from '../../lib/tx-builder.ts';

cleanUpAfterTests();

interface Template {
  transactions: { txid: string; depends: number[]; fee: number; sigops: number; weight: number }[];
  longpollid: string;
  curtime: number;
  mintime: number;
  coinbasevalue: number;
  previousblockhash: string;
  height: number;
}

interface Body<T> {
  readonly result: T;
  readonly error?: { readonly code: number; readonly message: string };
}

/** Makes calls whose results may be null; an error is returned as its code and message. */
function callerOf(node: () => NodeProcess) {
  return async <T = unknown>(method: string, ...params: unknown[]): Promise<T> => {
    const { body } = await node().api.rpcBody<Body<T>>({ jsonrpc: '2.0', id: 1, method, params });
    return body.error ? ([body.error.code, body.error.message] as T) : body.result;
  };
}

const RULES = { rules: ['segwit'] };
const NOBODY = '00'.repeat(32);

// Codes, messages and results are those of a running Bitcoin Core for the same calls on the same chain.
describe('a miner on regtest', () => {
  const chain = chainWithCoins(8, 'p2wpkh', { startTime: Math.floor(Date.now() / 1000) - 7200, spacing: 10 });
  const parent = spend(
    [chain.coin(1)],
    [
      { to: 'p2tr', value: 10_0000_0000n },
      { to: 'p2wsh-anyone', value: 39_9999_9000n },
    ],
  );
  const child = spend([coinOf(parent, 1), coinOf(parent, 0)], [{ to: 'p2pkh', value: 49_9999_9000n - 50_000n }]);
  const lone = sweep(chain.coin(2), 'p2sh-p2wpkh', 3000n);
  const badlySigned = withBadSignature(sweep(chain.coin(3), 'p2wpkh'));
  const now = Math.floor(Date.now() / 1000);
  let node: NodeProcess;
  const call = callerOf(() => node);
  const propose = (data: string) => call('getblocktemplate', { mode: 'proposal', data });

  beforeAll(async () => {
    node = await startNode();
    for (const block of chain.blocks.slice(1)) expect(await call('submitblock', block.raw.toHex())).toBeNull();
    await mempoolLoaded(node);
    for (const tx of [parent, child, lone]) expect(await call('sendrawtransaction', hexOf(tx))).toBe(idOf(tx));
    expect(await call('setmocktime', now)).toBeNull();
  });

  test('the template lists the best feerates first, with the dependencies', async () => {
    expect(await call('getmininginfo')).not.toHaveProperty('currentblocktx');
    const template = await call<Template>('getblocktemplate', RULES);
    expect(template).toMatchObject({
      version: 0x2000_0000,
      rules: ['csv', '!segwit', 'taproot'],
      vbavailable: {},
      vbrequired: 0,
      capabilities: ['proposal'],
      mutable: ['time', 'transactions', 'prevblock'],
      noncerange: '00000000ffffffff',
      sigoplimit: 80_000,
      sizelimit: 4_000_000,
      weightlimit: 4_000_000,
      bits: '207fffff',
      target: `7fffff${'0'.repeat(58)}`,
      height: 108,
      coinbaseaux: {},
      coinbasevalue: 50_0005_4000,
      curtime: now,
      mintime: chain.tip.time - 5 * 10 + 1,
    });
    expect(template.transactions.map(({ txid, depends, fee }) => [txid, depends, fee])).toEqual([
      [idOf(parent), [], 1000],
      // The parent is listed once per input of the child.
      [idOf(child), [1, 1], 50_000],
      [idOf(lone), [], 3000],
    ]);
    const weight = template.transactions.reduce((sum, tx) => sum + tx.weight, 8000);
    expect(await call('getmininginfo')).toMatchObject({ currentblocktx: 3, currentblockweight: weight });
  });

  test('a request needs valid members', async () => {
    const segwit = 'getblocktemplate must be called with the segwit rule set (call with {"rules": ["segwit"]})';
    expect(await call('getblocktemplate', {})).toEqual([-8, segwit]);
    expect(await call('getblocktemplate', { rules: 'segwit' })).toEqual([-8, segwit]);
    expect(await call('getblocktemplate', { rules: [1] })).toEqual([
      -3,
      'JSON value of type number is not of expected type string',
    ]);
    for (const mode of [1, 'x'])
      expect(await call('getblocktemplate', { ...RULES, mode })).toEqual([-8, 'Invalid mode']);
    // A mode that is not a text is rejected first, an unknown text after the rules.
    expect(await call('getblocktemplate', { mode: 1, rules: [1] })).toEqual([-8, 'Invalid mode']);
    expect(await call('getblocktemplate', { mode: 'x', rules: [1] })).toContain(-3);
    expect(await call('getblocktemplate', { ...RULES, longpollid: 'abc' })).toEqual([
      -8,
      "longpollid must be of length 64 (not 3, for 'abc')",
    ]);
    expect(await call('getblocktemplate', { mode: 'proposal' })).toEqual([-3, 'Missing data String key for proposal']);
    expect(await propose('zz')).toEqual([-22, 'Block decode failed']);
    expect(await propose('00')).toEqual([-22, 'Block decode failed']);
    expect(await propose('')).toEqual([-22, 'Block decode failed']);
    // Bytes behind a block are ignored.
    expect(await propose(`${chain.build({ work: false }).raw.toHex()}00ff`)).toBeNull();
    expect(await propose('00'.repeat(90))).toBe('inconclusive-not-best-prevblk');
  });

  const verdicts: [string, () => { raw: Uint8Array }, string | null][] = [
    ['no work', () => chain.build({ work: false }), null],
    ['transactions of the mempool', () => chain.build({ txs: [parent, child], work: false }), null],
    ['the block of the tip', () => chain.tip, 'duplicate'],
    ['the genesis block', () => chain.blocks[0]!, 'duplicate-inconclusive'],
    ['a missing parent', () => chain.build({ txs: [child] }), 'bad-txns-inputs-missingorspent'],
    ['too high a coinbase value', () => chain.build({ coinbaseValue: 50_0000_0001n }), 'bad-cb-amount'],
    ['no commitment', () => chain.build({ txs: [parent], commitment: 'none' }), 'unexpected-witness'],
    ['a wrong commitment', () => chain.build({ commitment: 'wrong' }), 'bad-witness-merkle-match'],
    ['an early time', () => chain.build({ time: 100 }), 'time-too-old'],
    ['a late time', () => chain.build({ time: now + 9000 }), 'time-too-new'],
    ['other bits', () => chain.build({ bits: 0x207f_fffe }), 'bad-diffbits'],
    ['an old version', () => chain.build({ version: 1 }), 'bad-version(0x00000001)'],
    ['another merkle root', () => chain.build({ merkleRoot: new Uint8Array(32) as never }), 'bad-txnmrklroot'],
    ['another parent', () => chain.fork(5).build(), 'inconclusive-not-best-prevblk'],
    [
      'a bad signature',
      () => chain.build({ txs: [badlySigned] }),
      'block-script-verify-flag-failed (Script failed an OP_EQUALVERIFY operation)',
    ],
  ];
  for (const [name, block, verdict] of verdicts)
    test(`a proposal with ${name}: ${verdict}`, async () => {
      const found = await propose(block().raw.toHex());
      if (name === 'a bad signature') expect(found).toStartWith('block-script-verify-flag-failed (');
      else expect(found).toBe(verdict);
      // The proposal is not stored.
      expect(await call('getchaintips')).toHaveLength(1);
    });

  test('generateblock validates the transactions before the proof of work', async () => {
    for (const submit of [true, false]) {
      const [code, message] = await call<[number, string]>(
        'generateblock',
        MINING_ADDRESS,
        [hexOf(badlySigned)],
        submit,
      );
      expect(code).toBe(-25);
      expect(message).toStartWith('TestBlockValidity failed: block-script-verify-flag-failed (');
      expect(await call('generateblock', MINING_ADDRESS, [idOf(child)], submit)).toEqual([
        -25,
        `TestBlockValidity failed: bad-txns-inputs-missingorspent, CheckTxInputs: inputs missing/spent in transaction ${idOf(child)}`,
      ]);
    }
    expect(await call('getblockcount')).toBe(107);
    const { hex } = await call<{ hex: string }>('generateblock', 'raw(51)', [idOf(parent), idOf(child)], false);
    expect(await call('getblockcount')).toBe(107);
    expect(await call('testmempoolaccept', [hexOf(lone)])).toMatchObject([
      { 'reject-reason': 'txn-already-in-mempool' },
    ]);
    expect(await propose(hex)).toBeNull();
    expect(await call('generateblock', 'nope', [])).toEqual([-5, 'Error: Invalid address or descriptor']);
    expect(await call('generateblock', MINING_ADDRESS, [NOBODY])).toEqual([
      -5,
      `Transaction ${NOBODY} not in mempool.`,
    ]);
  });

  test('generatetodescriptor accepts descriptors without keys', async () => {
    const errors = {
      'raw(zz)': 'Raw script is not hex',
      'addr(zz)': 'Address is not valid',
      'raw(51)#': 'Expected 8 character checksum, not 0 characters',
      'raw(51)#abcdefgh': "Provided checksum 'abcdefgh' does not match computed checksum '8lvh9jxk'",
      'foo(51)': "'foo(51)' is not a valid descriptor function",
    };
    for (const [descriptor, message] of Object.entries(errors))
      expect(await call('generatetodescriptor', 1, descriptor)).toEqual([-5, message]);
    expect(await call('generatetodescriptor', 0, 'raw(51)')).toEqual([]);
  });

  test('submitheader', async () => {
    const submit = (block: { raw: Uint8Array }) => call('submitheader', block.raw.subarray(0, 80).toHex());
    expect(await call('submitheader', 'zz')).toEqual([-22, 'Block header decode failed']);
    expect(await call('submitheader', '00')).toEqual([-22, 'Block header decode failed']);
    expect(await submit(chain.tip)).toBeNull();
    expect(await submit(chain.build({ previousHash: new Uint8Array(32) as never }))).toEqual([
      -25,
      `Must submit previous header (${NOBODY}) first`,
    ]);
    expect(await submit(chain.build({ time: 100 }))).toEqual([-25, 'time-too-old']);
    expect(await submit(chain.build({ work: false }))).toEqual([-25, 'high-hash']);
    const next = chain.build({ txs: [badlySigned] });
    expect(await submit(next)).toBeNull();
    expect(await call('getchaintips')).toMatchObject([{ height: 108, status: 'headers-only' }, { height: 107 }]);
    expect(await propose(next.raw.toHex())).toBe('duplicate-inconclusive');
    expect(await call<string>('submitblock', next.raw.toHex())).toStartWith('block-script-verify-flag-failed (');
    expect(await propose(next.raw.toHex())).toBe('duplicate-invalid');
  });

  test('a template is reused for five seconds while only the mempool changes', async () => {
    const before = await call<Template>('getblocktemplate', RULES);
    expect(await call('prioritisetransaction', idOf(lone), 0, 1_000_000)).toBe(true);
    expect((await call<Template>('getblocktemplate', RULES)).transactions[0]!.txid).toBe(idOf(parent));
    expect(await call('setmocktime', now + 6)).toBeNull();
    const after = await call<Template>('getblocktemplate', RULES);
    expect(after.transactions[0]!.txid).toBe(idOf(lone));
    expect(after.curtime).toBe(now + 6);
    expect(after.longpollid).not.toBe(before.longpollid);
    // A fee delta is not part of the coinbase value.
    expect(after.coinbasevalue).toBe(before.coinbasevalue);
  });

  test('a call with longpollid returns when the tip moves', async () => {
    const { longpollid, previousblockhash } = await call<Template>('getblocktemplate', RULES);
    expect(longpollid.slice(0, 64)).toBe(previousblockhash);
    const polled = call<Template>('getblocktemplate', { ...RULES, longpollid });
    const waited = call('waitfornewblock', 0);
    const [hash] = await call<string[]>('generatetoaddress', 1, MINING_ADDRESS);
    expect(await polled).toMatchObject({ previousblockhash: hash, height: 109, transactions: [] });
    expect(await waited).toEqual({ hash, height: 108 });
    // A longpollid of an earlier tip returns at once.
    expect(await call('getblocktemplate', { ...RULES, longpollid })).toMatchObject({ previousblockhash: hash });
  });

  test('the wait methods end with a block, a height, or the end of the time', async () => {
    const [hash, height] = [await call('getbestblockhash'), 108];
    expect(await call('waitfornewblock', -1)).toEqual([-1, 'Negative timeout']);
    expect(await call('waitfornewblock', 5)).toEqual({ hash, height });
    expect(await call('waitfornewblock', 0, NOBODY)).toEqual({ hash, height });
    expect(await call('waitforblock', hash)).toEqual({ hash, height });
    expect(await call('waitforblock', NOBODY, 5)).toEqual({ hash, height });
    expect(await call('waitforblockheight', 3)).toEqual({ hash, height });
    const later = call('waitforblockheight', 110);
    const [, second] = await call<string[]>('generatetoaddress', 2, MINING_ADDRESS);
    expect(await later).toEqual({ hash: second, height: 110 });
  });

  test('waiting calls do not block other calls, and their number is bounded', async () => {
    const waits = Array.from({ length: 33 }, () => call<unknown>('waitforblockheight', 111));
    expect(await Promise.race(waits)).toEqual([-37, 'Too many calls wait already']);
    expect(await call('getblockcount')).toBe(110);
    const [hash] = await call<string[]>('generatetoaddress', 1, MINING_ADDRESS);
    const ends = await Promise.all(waits);
    expect(ends.filter((end) => !Array.isArray(end))).toEqual(Array(32).fill({ hash, height: 111 }));
  });

  test('generation ends when the caller leaves', async () => {
    const before = await call<number>('getblockcount');
    const leave = new AbortController();
    const params = [2 ** 31 - 1, MINING_ADDRESS];
    const { url, key } = node.api;
    fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ method: 'generatetoaddress', params }),
      signal: leave.signal,
    }).catch(() => {});
    while ((await call<number>('getblockcount')) === before);
    leave.abort();
    const isMining = async () => {
      const { active_commands } = await call<{ active_commands: { method: string }[] }>('getrpcinfo');
      return active_commands.some(({ method }) => method === 'generatetoaddress');
    };
    while (await isMining());
    const height = await call<number>('getblockcount');
    expect(await call<string[]>('generatetoaddress', 1, MINING_ADDRESS)).toHaveLength(1);
    expect(await call<number>('getblockcount')).toBe(height + 1);
  }, 180_000);

  test('setmocktime stops the clocks of both threads, within bounds', async () => {
    const bounds = (time: number) => [-8, `Mocktime must be in the range [0, 4294967295], not ${time}.`];
    for (const time of [-1, 4_294_967_296]) expect(await call('setmocktime', time)).toEqual(bounds(time));
    await call('setmocktime', now + 1000);
    const [hash] = await call<string[]>('generatetoaddress', 1, MINING_ADDRESS);
    expect(await call('getblockheader', hash)).toMatchObject({ time: now + 1000 });
    expect(await call<number>('uptime')).toBeLessThan(1000);
    await call('setmocktime', 0);
    const template = await call<Template>('getblocktemplate', RULES);
    expect(template.curtime).toBeLessThan(now + 1000);
  });
});

describeWithVectors('networks whose blocks have a value', () => {
  const { signetChallenge: _, ...consensus } = regtest.consensus;
  const main: NetworkParams = { ...regtest, isTestnet: false };
  const signet: NetworkParams = { ...regtest, consensus: { ...consensus, signetChallenge: Uint8Array.of(0x51) } };
  const ask = async (params: NetworkParams, status: Partial<NodeStatus>) => {
    const api = startTestApi(mixedChainDir(), { params, node: idleNode(status) });
    try {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getblocktemplate', params: [RULES] });
      const { error } = (await (await api.post('/', body)).json()) as Body<unknown>;
      return error && [error.code, error.message];
    } finally {
      await api.close();
    }
  };

  test('a node without peers, or in initial block download, returns no template', async () => {
    expect(await ask(main, {})).toEqual([-9, 'Obverse is not connected!']);
    const behind = { peers: { inbound: 0, outbound: 1 }, initialBlockDownload: true };
    expect(await ask(main, behind)).toEqual([-10, 'Obverse is in initial sync and waiting for blocks...']);
  });

  test('on signets the rules must contain signet', async () =>
    expect(await ask(signet, {})).toEqual([
      -8,
      'getblocktemplate must be called with the signet rule set (call with {"rules": ["segwit", "signet"]})',
    ]));
});

test('waiting calls return the current tip when the node stops', async () => {
  const node = await startNode();
  const call = callerOf(() => node);
  const waited = call('waitfornewblock');
  // The call has arrived when a later one is answered.
  expect(await call('getblockcount')).toBe(0);
  const stopped = node.stop();
  expect(await waited).toMatchObject({ height: 0 });
  expect((await stopped).status).toBe(0);
});
