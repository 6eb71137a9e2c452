import type { Config } from '../config/settings.ts';
import { parseWithNumbers } from '../http/raw-json.ts';
import { OperatorError } from '../util/operator-error.ts';
import { requestNode } from './node-access.ts';

const TIMEOUT_MS = 10_000;
/** Wallets whose balances are requested; the others are counted. */
const MAX_WALLETS = 8;
const UNAUTHORIZED = 401;
const FORBIDDEN = 403;

interface ReadyCheck {
  readonly status: string;
  readonly message?: string;
  readonly freeBytes?: number;
}

export interface WalletFacts {
  readonly name: string;
  /** Coins, as the node wrote them; null where the wallet does not answer. */
  readonly balance: string | null;
  readonly pending: string | null;
  readonly state: 'watch-only' | 'not encrypted' | 'locked' | 'unlocked';
}

/** The figures of one screen of `obverse status`. */
export interface StatusFacts {
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly version: string;
  readonly network: string;
  readonly uptime: number;
  readonly height: number;
  readonly headers: number;
  readonly hash: string;
  /** Time of the tip, Unix seconds. */
  readonly tipTime: number;
  readonly synced: boolean;
  /** 0 to 1. */
  readonly progress: number;
  readonly peers: { readonly inbound: number; readonly outbound: number };
  readonly mempool: { readonly size: number; readonly vbytes: number; readonly usage: number; readonly max: number };
  readonly indexes: Readonly<Record<string, { readonly enabled: boolean; readonly height: number | null }>>;
  readonly pruneHeight: number | null;
  /** Size of blocks and undo data, bytes. */
  readonly chainBytes: number;
  /** Null while the node does not report it. */
  readonly freeBytes: number | null;
  readonly wallets: { readonly shown: readonly WalletFacts[]; readonly count: number };
  readonly ready: { readonly status: string; readonly problems: readonly string[] };
  readonly warnings: readonly string[];
}

interface InfoReply {
  readonly version: string;
  readonly network: string;
  readonly height: number;
  readonly headers: number;
  readonly bestBlockHash: string;
  readonly time: number;
  readonly synced: boolean;
  readonly verificationProgress: number;
  readonly peersInbound: number;
  readonly peersOutbound: number;
  readonly indexes: StatusFacts['indexes'];
  readonly pruneHeight: number | null;
  readonly uptime: number;
  readonly warnings: readonly string[];
}

interface RpcReply {
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** Reads the state of the running node. Throws OperatorError where none answers. */
export async function readStatus(config: Config, signal: AbortSignal): Promise<StatusFacts> {
  const send = (path: string, body?: string) =>
    requestNode(config, { path, signal, timeoutMs: TIMEOUT_MS, ...(body !== undefined && { body }) });
  const ready = readyOf((await send('/readyz')).text);
  const info = await send('/api/info');
  if (info.status !== 200)
    throw new OperatorError(`the node is not open yet: ${ready.problems.join('; ') || info.status}`);
  const node = JSON.parse(info.text) as InfoReply;
  const rpc = async (path: string, ...methods: readonly string[]): Promise<readonly unknown[]> => {
    const calls = methods.map((method, id) => ({ jsonrpc: '2.0', id, method, params: [] }));
    const { status, text } = await send(path, JSON.stringify(calls));
    if (status === UNAUTHORIZED || status === FORBIDDEN)
      throw new OperatorError('the key or cookie is not valid for this node');
    const replies = parseReplies(text);
    return methods.map((_, i) => replies[i]?.result ?? null);
  };
  const [mempool, chain, names] = (await rpc('/', 'getmempoolinfo', 'getblockchaininfo', 'listwallets')) as [
    { size: number; bytes: number; usage: number; maxmempool: number } | null,
    { size_on_disk: number } | null,
    readonly string[] | null,
  ];
  const wallets = names ?? [];
  const shown: WalletFacts[] = [];
  for (const name of wallets.slice(0, MAX_WALLETS)) {
    const path = `/wallet/${encodeURIComponent(name)}`;
    const [about, balances] = await rpc(path, 'getwalletinfo', 'getbalances');
    shown.push(walletFacts(name, about, balances));
  }
  return {
    atMs: Date.now(),
    version: node.version,
    network: node.network,
    uptime: node.uptime,
    height: node.height,
    headers: node.headers,
    hash: node.bestBlockHash,
    tipTime: node.time,
    synced: node.synced,
    progress: node.verificationProgress,
    peers: { inbound: node.peersInbound, outbound: node.peersOutbound },
    mempool: {
      size: Number(mempool?.size ?? 0),
      vbytes: Number(mempool?.bytes ?? 0),
      usage: Number(mempool?.usage ?? 0),
      max: Number(mempool?.maxmempool ?? 0),
    },
    indexes: node.indexes,
    pruneHeight: node.pruneHeight,
    chainBytes: Number(chain?.size_on_disk ?? 0),
    freeBytes: ready.freeBytes,
    wallets: { shown, count: wallets.length },
    ready: { status: ready.status, problems: ready.problems },
    warnings: node.warnings,
  };
}

/** Numbers stay texts, so that a balance is shown with the digits that the node wrote. */
function parseReplies(text: string): readonly RpcReply[] {
  const replies = parseWithNumbers(text, (digits) => digits) as readonly RpcReply[];
  return Array.isArray(replies) ? replies : [];
}

function walletFacts(name: string, about: unknown, balances: unknown): WalletFacts {
  const info = (about ?? {}) as { unlocked_until?: string; private_keys_enabled?: boolean };
  const mine = (balances as { mine?: { trusted?: string; untrusted_pending?: string } } | null)?.mine;
  const { unlocked_until: until, private_keys_enabled: hasKeys = true } = info;
  const state = !hasKeys
    ? 'watch-only'
    : until === undefined
      ? 'not encrypted'
      : Number(until) === 0
        ? 'locked'
        : 'unlocked';
  return { name, balance: mine?.trusted ?? null, pending: mine?.untrusted_pending ?? null, state };
}

function readyOf(text: string): StatusFacts['ready'] & { readonly freeBytes: number | null } {
  try {
    const { status, checks } = JSON.parse(text) as { status: string; checks: Record<string, ReadyCheck> };
    const problems = Object.entries(checks)
      .filter(([, check]) => check.status !== 'ok')
      .map(([name, check]) => `${name}: ${check.message ?? check.status}`);
    return { status, problems, freeBytes: checks.disk?.freeBytes ?? null };
  } catch {
    return { status: 'unknown', problems: ['/readyz does not answer'], freeBytes: null };
  }
}
