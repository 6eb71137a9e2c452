import { beforeAll, describe, expect, test } from 'bun:test';
import type { ApiClient } from '../lib/node-client.ts';
import { cleanUpAfterTests, startNode } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';

cleanUpAfterTests();

interface Share {
  readonly participant_pubkey: string;
  readonly aggregate_pubkey: string;
  readonly leaf_hash?: string;
  readonly pubnonce?: string;
  readonly partial_sig?: string;
}

interface Decoded {
  readonly inputs: readonly {
    readonly musig2_participant_pubkeys?: readonly { readonly participant_pubkeys: readonly string[] }[];
    readonly musig2_pubnonces?: readonly Share[];
    readonly musig2_partial_sigs?: readonly Share[];
    readonly taproot_bip32_derivs?: readonly { readonly pubkey: string }[];
    readonly final_scriptwitness?: readonly string[];
  }[];
  readonly outputs: readonly { readonly musig2_participant_pubkeys?: readonly unknown[] }[];
}

interface Processed {
  readonly psbt: string;
  readonly complete: boolean;
}

interface Finalized extends Processed {
  readonly hex?: string;
}

interface Coin {
  readonly txid: string;
  readonly vout: number;
  readonly address: string;
}

/** BIP-341's point without a private key. */
const NOBODY = '50929b74c1a04954b78b4b6035e97a5e078a5a0f28ec96d547bfee9ace803ac0';
const SIGNERS = [0, 1, 2] as const;

interface Case {
  /** $0, $1 and $2 stand for accounts of the wallets. */
  readonly descriptor: string;
  readonly signers: readonly number[];
  readonly nonces: number;
  readonly partials: number;
  readonly witness: number;
  readonly sighash?: string;
  /** The participants that import the descriptor; by default all signers. */
  readonly importers?: readonly number[];
}

const CASES: readonly Case[] = [
  { descriptor: 'tr(musig($0/<0;1>/*,$1/<1;2>/*,$2/<2;3>/*))', signers: SIGNERS, nonces: 3, partials: 3, witness: 1 },
  {
    descriptor: 'rawtr(musig($0,$1)/<0;1>/*)',
    signers: [0, 1],
    nonces: 2,
    partials: 2,
    witness: 1,
    sighash: 'ALL|ANYONECANPAY',
  },
  {
    descriptor: 'tr(musig($0/<0;1>/*,$1/<0;1>/*))',
    signers: [0, 1],
    nonces: 2,
    partials: 2,
    witness: 1,
    importers: [0],
  },
  {
    descriptor: `tr(${NOBODY},{pk(musig($0,$1)/<0;1>/*),pk(musig($1/4/*,$2/5/*))})`,
    signers: SIGNERS,
    nonces: 4,
    partials: 4,
    witness: 3,
  },
  // One of the three of the key path is away.
  {
    descriptor: 'tr(musig($0,$1,$2)/<3;4>/*,{pk(musig($0,$1)/<5;6>/*),pk(musig($1,$2)/7/*)})',
    signers: [1, 2],
    nonces: 5,
    partials: 2,
    witness: 3,
    importers: SIGNERS,
  },
  {
    descriptor: `tr(${NOBODY},and_v(v:pkh(musig($0,$1)/<0;1>/*),after(1)))`,
    signers: [0, 1],
    nonces: 2,
    partials: 2,
    witness: 4,
  },
];

/** Three wallets, each with one key of accounts that they hold together. */
describe('MuSig2', () => {
  let api: ApiClient;
  const accounts: { readonly secret: string; readonly known: string }[] = [];
  const addresses: string[] = [];

  const call = async <T>(signer: number, method: string, params: unknown = []): Promise<T> => {
    const { body, text } = await api.request<{ result: T; error?: unknown }>(`/wallet/signer-${signer}`, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    if (body.error) throw new Error(`${method}: ${text}`);
    return body.result;
  };
  const decode = (psbt: string) => api.rpc<Decoded>('decodepsbt', [psbt]);
  const combine = (psbts: readonly string[]) => api.rpc<string>('combinepsbt', [psbts]);
  const finalize = (psbt: string) => api.rpc<Finalized>('finalizepsbt', [psbt]);
  const process = async (signer: number, psbt: string, sighash?: string) =>
    (await call<Processed>(signer, 'walletprocesspsbt', { psbt, ...(sighash && { sighashtype: sighash }) })).psbt;
  const processAll = async (signers: readonly number[], psbt: string, sighash?: string) =>
    combine(await Promise.all(signers.map((signer) => process(signer, psbt, sighash))));
  const fund = async (signer: number, address: string) => {
    const coins = await call<Coin[]>(signer, 'listunspent');
    const { txid, vout } = coins.find((coin) => coin.address === address)!;
    const { psbt } = await call<{ psbt: string }>(signer, 'walletcreatefundedpsbt', {
      inputs: [{ txid, vout }],
      outputs: { [MINING_ADDRESS]: 20 },
      locktime: 1,
      options: { changePosition: 1, change_type: 'bech32m', fee_rate: 10 },
    });
    return psbt;
  };

  beforeAll(async () => {
    ({ api } = await startNode({ args: ['--wallet.keypool=4'] }));
    for (const signer of SIGNERS) {
      await api.rpc('createwallet', [`signer-${signer}`]);
      const find = async (withKeys: boolean) => {
        const { descriptors } = await call<{ descriptors: { desc: string; internal: boolean }[] }>(
          signer,
          'listdescriptors',
          [withKeys],
        );
        const { desc } = descriptors.find((own) => own.desc.startsWith('tr(') && !own.internal)!;
        return /^tr\((.*)\/0\/\*\)/.exec(desc)![1]!;
      };
      const known = await find(false);
      const [, path] = /^\[\w{8}(.*)\]/.exec(known)!;
      const secret = await find(true);
      accounts.push({
        known,
        secret: secret.startsWith('[') ? secret : secret.endsWith(path!) ? secret : secret + path,
      });
    }
    for (const { descriptor, signers, importers = signers } of CASES) {
      const all = new Set<string>();
      for (const signer of importers) {
        const text = descriptor.replace(/\$(\d)/g, (_, i) => accounts[i]![Number(i) === signer ? 'secret' : 'known']);
        const { checksum } = await api.rpc<{ checksum: string }>('getdescriptorinfo', [text]);
        const desc = `${text}#${checksum}`;
        const [imported] = await call<{ success: boolean }[]>(signer, 'importdescriptors', [
          [{ desc, active: true, timestamp: 'now', range: [0, 3] }],
        ]);
        expect(imported).toMatchObject({ success: true });
        all.add(await call<string>(signer, 'getnewaddress', ['', 'bech32m']));
      }
      expect(all.size).toBe(1);
      addresses.push(...all);
      // The first is spent from twice.
      await api.rpc('generatetoaddress', [addresses.length === 1 ? 2 : 1, [...all][0]!]);
    }
    await api.rpc('generatetoaddress', [100, MINING_ADDRESS]);
  });

  test.each(CASES.map((each, i) => [each.descriptor, each, i] as const))('%s is spent from', async (_, each, i) => {
    const { descriptor, signers, nonces, partials, witness, sighash, importers = signers } = each;
    const psbt = await fund(importers[0]!, addresses[i]!);
    const made = await decode(psbt);
    const aggregates = descriptor.split('musig(').length - 1;
    expect(made.inputs[0]!.musig2_participant_pubkeys).toHaveLength(aggregates);
    const origins = made.inputs[0]!.taproot_bip32_derivs!.map(({ pubkey }) => pubkey);
    for (const { participant_pubkeys } of made.inputs[0]!.musig2_participant_pubkeys!)
      for (const key of participant_pubkeys) expect(origins).toContain(key.slice(2));

    // Two sessions at a time share no nonce.
    const first = await processAll(signers, psbt, sighash);
    const second = await processAll(signers, psbt, sighash);
    const [one, other] = [await decode(first), await decode(second)];
    const given = one.inputs[0]!.musig2_pubnonces!;
    expect(given).toHaveLength(nonces);
    const all = [...given, ...other.inputs[0]!.musig2_pubnonces!].map(({ pubnonce }) => pubnonce);
    expect(new Set(all).size).toBe(2 * nonces);
    expect((await finalize(first)).complete).toBe(false);

    const signed = await processAll(signers, first, sighash);
    expect((await decode(signed)).inputs[0]!.musig2_partial_sigs).toHaveLength(partials);
    // The nonces are used up: no signer signs with them again.
    expect((await decode(await processAll(signers, first, sighash))).inputs[0]!.musig2_partial_sigs).toBeUndefined();

    const done = await api.rpc<Finalized>('finalizepsbt', [signed, false]);
    expect(done.complete).toBe(true);
    expect((await decode(done.psbt)).inputs[0]!.final_scriptwitness).toHaveLength(witness);
    const { hex } = await finalize(await processAll(signers, second, sighash));
    expect(hex).toBeString();
    const [tried] = await api.rpc<{ allowed: boolean }[]>('testmempoolaccept', [[hex]]);
    expect(tried).toMatchObject({ allowed: true });
    const { hex: sent } = await finalize(signed);
    await api.rpc('sendrawtransaction', [sent]);
  });

  test('a session ends with the wallet that began it, and can be begun anew', async () => {
    const [address] = addresses;
    const psbt = await fund(0, address!);
    const nonces = await processAll(SIGNERS, psbt);
    await api.rpc('unloadwallet', ['signer-0']);
    await api.rpc('loadwallet', ['signer-0']);
    const left = (await decode(await processAll(SIGNERS, nonces))).inputs[0]!;
    expect(left.musig2_partial_sigs).toHaveLength(2);
    const { complete } = await finalize(await processAll(SIGNERS, await processAll(SIGNERS, psbt)));
    expect(complete).toBe(true);
  });
});
