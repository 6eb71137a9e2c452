import addressindex from './addressindex.json' with { type: 'text' };
import blockchain from './blockchain.json' with { type: 'text' };
import control from './control.json' with { type: 'text' };
import mining from './mining.json' with { type: 'text' };
import network from './network.json' with { type: 'text' };
import rawtransactions from './rawtransactions.json' with { type: 'text' };
import signer from './signer.json' with { type: 'text' };
import util from './util.json' with { type: 'text' };
import wallet from './wallet.json' with { type: 'text' };

/** A call of a method as a node of regtest received it, and its result. */
export interface RecordedCall {
  /** By position or by name. */
  readonly params: readonly unknown[] | Readonly<Record<string, unknown>>;
  readonly result: unknown;
}

/** Recorded calls by method, and of one method by a name. */
export type RecordedCalls = Readonly<Record<string, Readonly<Record<string, RecordedCall>>>>;

// They are texts because most runs of a node never parse them. TypeScript takes the type from the name of the file.
const FILES = [
  addressindex,
  blockchain,
  control,
  mining,
  network,
  rawtransactions,
  signer,
  util,
  wallet,
] as readonly unknown[] as readonly string[];

/** Returns the recorded calls of all methods. */
export function recordedCalls(): RecordedCalls {
  return Object.assign({}, ...FILES.map((text) => JSON.parse(text) as RecordedCalls)) as RecordedCalls;
}
