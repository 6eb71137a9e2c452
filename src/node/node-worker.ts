import { changeBytes } from '../mempool/changes.ts';
import { systemClock } from '../util/clock.ts';
import { refillReserve, reserveDescriptors } from '../util/descriptors.ts';
import { stderrLog } from '../util/log.ts';
import { lowerCompilerThreads, lowerThreadPriority } from '../util/nice.ts';
import { announceStart } from '../util/worker.ts';
import { Backlog } from './backlog.ts';
import { GarbageCollector } from './garbage.ts';
import { openProgressLog } from './import-log.ts';
import { Node } from './node.ts';
import type { FromNode, ToNode } from './protocol.ts';

declare const self: Worker;

announceStart();

/** How often the front hears of what changes without a commit. */
const STATUS_INTERVAL_MS = 1000;

// Clients come first; script checks, which have the most to do, come last, and compiling hot code between the two.
lowerThreadPriority(10);
const COMPILER_NICE = 15;

// Enough for a new pair of block files, a wallet with its log and its index, and a thread; and time for the front to close
// connections when even these are used up.
reserveDescriptors(16, 2000);

/** Bytes of updates that the main thread may not have acknowledged yet: some thousands of transactions. */
const BACKLOG_BYTES = 4 << 20;

const abort = new AbortController();
const backlog = new Backlog(BACKLOG_BYTES);
let node: Node | null = null;
/** Ends running calls, by their ids. */
const calls = new Map<number, AbortController>();
let background: Promise<unknown> = Promise.resolve();

const send = (message: FromNode): void => self.postMessage(message);

function fail(error: unknown): void {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  const operator = name === 'OperatorError';
  send({ type: 'failed', message: operator ? message : (stack ?? message), operator });
}

/** Blocks from files first, then the saved mempool, then the sandbox. */
async function work(opened: Node, { files, log }: { files: readonly string[]; log: ReturnType<typeof stderrLog> }) {
  void opened.buildFilters();
  if (files.length > 0) {
    const progress = openProgressLog(log);
    const result = await opened.import(files, { signal: abort.signal, progress });
    if (result.badBlock) log.error('import stopped at an invalid block', { ...result.badBlock });
    else if (!abort.signal.aborted) log.info('import done', { ...result, badBlock: undefined });
  }
  if (files.length > 0 && !abort.signal.aborted) opened.startPeers();
  if (!abort.signal.aborted) await opened.loadMempool(abort.signal);
  if (!abort.signal.aborted) await opened.sandbox(abort.signal);
}

self.onmessage = async ({ data }: MessageEvent<ToNode>) => {
  switch (data.type) {
    case 'open':
      try {
        const { config } = data;
        const log = stderrLog(config.log);
        const opened = new Node(config, { log, room: () => backlog.whenRoom() });
        node = opened;
        await opened.prepared();
        // Before the node is reported as opened, since the port of peers may be in use.
        if (config.import.files.length === 0) opened.startPeers();
        send({ type: 'opened', status: opened.status() });
        opened.onUpdate((update) => {
          backlog.addSent(update.changes.reduce((sum, change) => sum + changeBytes(change), 0));
          send({ type: 'update', update, status: update.commit && opened.status() });
        });
        opened.onPeerChange((change) => send({ type: 'peer', change }));
        // In initial sync memory comes and goes anyway, and nothing may cost time.
        GarbageCollector.startPeriodicChecks(systemClock, () => !opened.chain.initialSync);
        const timer = setInterval(() => {
          send({ type: 'status', status: opened.status(), counters: opened.counters() });
          lowerCompilerThreads(COMPILER_NICE);
          refillReserve();
        }, STATUS_INTERVAL_MS);
        abort.signal.addEventListener('abort', () => clearInterval(timer), { once: true });
        background = work(opened, { files: config.import.files, log }).catch((error) => {
          if (!abort.signal.aborted) fail(error);
        });
      } catch (error) {
        fail(error);
      }
      return;
    case 'call': {
      const ending = new AbortController();
      calls.set(data.id, ending);
      try {
        if (!node) throw new Error('the node is not open');
        const result = await node.call(data.name, data.args, ending.signal);
        // Which wallets are loaded is to be known before the answer is.
        if (node.changesWallets(data.name)) send({ type: 'status', status: node.status(), counters: node.counters() });
        send({ type: 'reply', id: data.id, result });
      } catch (error) {
        send({ type: 'reply', id: data.id, error: error instanceof Error ? error.message : String(error) });
      } finally {
        calls.delete(data.id);
      }
      return;
    }
    case 'cancel':
      calls.get(data.id)?.abort(new Error('the client has disconnected'));
      return;
    case 'acknowledge':
      backlog.acknowledge(data.bytes);
      return;
    case 'close':
      backlog.close();
      abort.abort(new Error('the node stops'));
      for (const ending of calls.values()) ending.abort(abort.signal.reason);
      try {
        await background;
        await node?.close();
      } catch (error) {
        fail(error);
      }
      send({ type: 'closed' });
      return;
  }
};
