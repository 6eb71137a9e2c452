import { benchBlock } from './block.ts';
import { benchCold } from './cold.ts';
import { benchHttp } from './http.ts';
import { benchImport } from './import.ts';
import { benchLatency } from './latency.ts';
import { benchMempool } from './mempool.ts';
import { benchPrimitives } from './primitives.ts';
import { describeMachine } from './report.ts';
import { benchRows } from './rows.ts';
import { benchServe } from './serve.ts';
import { benchSignatures } from './signatures.ts';
import { benchSink } from './sink.ts';
import { benchSize } from './size.ts';
import { benchSync } from './sync.ts';
import { benchTemplate } from './template.ts';
import { benchWallet } from './wallet.ts';
import { benchWalletStalls } from './wallet-stalls.ts';

const BENCHES: Readonly<
  Record<string, { readonly help: string; readonly run: (chain: string, args: readonly string[]) => Promise<void> }>
> = {
  http: {
    help: 'requests of every kind, beside a bare Bun.serve and a bare Elysia; --base DIR, --core BITCOIND: beside these as well',
    run: (_, args) => benchHttp(args),
  },
  import: {
    help: 'import a chain with all indexes: speed, stages, memory, disk; --core BITCOIND',
    run: (chain, args) => benchImport(chain, args),
  },
  size: {
    help: 'import chains of several sizes: time, inputs a second, memory, bytes written; --memory GIB, --core BITCOIND',
    run: (_, args) => benchSize(args),
  },
  rows: {
    help: 'look-ups and commits over so many rows made directly in the storage: --millions 1,10; --dir DIR keeps them',
    run: (_, args) => benchRows(args),
  },
  cold: {
    help: 'GET /healthz of a process that has just started, beside a bare Bun.serve; --starts N, --base DIR, --busy PROCESSES',
    run: (_, args) => benchCold(args),
  },
  latency: { help: 'how fast requests are answered while a chain is imported', run: benchLatency },
  mempool: {
    help: 'transactions accepted a second, and the memory of a full mempool: [COUNT] --only pool|submit|full --core BITCOIND --base DIR',
    run: (_, args) => benchMempool(args),
  },
  block: {
    help: 'a block of so many transactions (7,000) connected: seen before, and not',
    run: async (count) => benchBlock(Number(count) || undefined),
  },
  template: {
    help: 'block templates over a mempool of so many megabytes (300)',
    run: async (megabytes) => benchTemplate(Number(megabytes) || undefined),
  },
  sink: {
    help: "the first fill of sink.postgres with each chain, beside psql's \\copy of the same rows: CHAIN …",
    run: (_, args) => benchSink(args.filter((arg) => !arg.startsWith('-'))),
  },
  serve: {
    help: 'reads of 1, 2 and 4 servers without a node, beside the node that has filled their database: CHAIN; --servers 1,2,4',
    run: (_, args) => benchServe(args),
  },
  sync: { help: 'a chain fetched from another node, beside its import', run: benchSync },
  wallet: {
    help: 'a wallet of many transactions: how fast it follows and answers',
    run: async (count) => benchWallet(Number(count) || undefined),
  },
  'wallet-stalls': {
    help: 'how long each call of a wallet holds its thread in one piece; a name measures that call alone',
    run: benchWalletStalls,
  },
  signatures: {
    help: 'the signature libraries of this machine, and of files that are named: libsecp256k1.so …',
    run: async (_, args) => benchSignatures(args),
  },
  primitives: { help: 'signatures, hashes, merkle trees, block parsing', run: async () => benchPrimitives() },
};

const [name, chain = process.env.OBVERSE_BENCH_CHAIN ?? ''] = process.argv.slice(2);
const bench = name === undefined ? undefined : BENCHES[name];
if (!bench) {
  console.log(`npm run bench -- NAME [CHAIN], or npm run bench -- mempool|block [COUNT], or npm run bench -- template [MEGABYTES]

CHAIN is a regtest chain as a file of magic, size, block; OBVERSE_BENCH_CHAIN names it as well.
`);
  for (const [key, { help }] of Object.entries(BENCHES)) console.log(`  ${key.padEnd(15)}${help}`);
  process.exit(name === undefined ? 0 : 2);
}
const needsChain = name === 'import' || name === 'latency' || name === 'sync' || name === 'sink';
if (needsChain && !chain) {
  console.error(`bench ${name} needs a chain: npm run bench -- ${name} CHAIN`);
  process.exit(2);
}
describeMachine();
await bench.run(chain, process.argv.slice(3));
