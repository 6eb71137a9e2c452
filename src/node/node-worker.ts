import { changeBytes, withoutBytes } from '../mempool/changes.ts';
import { UpdateProgress } from '../mempool/update-progress.ts';
import type { NodeCallName } from '../port/node-calls.ts';
import { transferredBuffers } from '../util/ascii-text.ts';
import { systemClock } from '../util/clock.ts';
import { endReserve, refillReserve, reserveDescriptors } from '../util/descriptors.ts';
import type { CategoryLevels } from '../util/log-levels.ts';
import { lowerCompilerThreads } from '../util/nice.ts';
import { OperatorError } from '../util/operator-error.ts';
import { Outbox } from '../util/outbox.ts';
import { processLog } from '../util/process-log.ts';
import { beginServing, isServing, yieldToReplies } from '../util/serving.ts';
import { acceptHold, announceStart, releaseStartedThreads } from '../util/worker.ts';
import { Backlog } from './backlog.ts';
import { GarbageCollector } from './garbage.ts';
import { openProgressLog } from './import-log.ts';
import { Node } from './node.ts';
import type { FromNode, NodePush, ToNode } from './node-messages.ts';

declare const self: Worker;

announceStart();

/** Interval of the status messages to the main thread, milliseconds. */
const STATUS_INTERVAL_MS = 1000;

// Below the main thread, which answers clients. Compiler threads come next, and script verification last.
const NODE_NICE = 10;
const COMPILER_NICE = 15;

// Enough for a new pair of block files, a wallet with its WAL and its index, and a thread. When even these are used, the
// main thread has this time to close connections.
reserveDescriptors(16, 2000);
acceptHold.start();

/** Bytes of updates that the main thread may not have acknowledged yet: some thousands of transactions. */
const BACKLOG_BYTES = 4 << 20;

/** A front that makes calls. The first one is the main thread. */
interface Front {
  readonly outbox: Outbox<FromNode>;
  /** Ends running calls, by their ids. */
  readonly calls: Map<number, AbortController>;
  /** Number of updates that it has applied. */
  applied: number;
}

const abort = new AbortController();
/** Creates the record of a front, whose messages `post` sends. */
function frontOf(post: (messages: readonly FromNode[], transfer: ArrayBuffer[]) => void): Front {
  const outbox = new Outbox<FromNode>(post, (message, error) => {
    // The front must not wait for a result that cannot be sent. Nothing else may be lost.
    if (message.type !== 'reply') throw error;
    outbox.send({ type: 'reply', id: message.id, error: `the result cannot be sent: ${error}` });
  });
  return { outbox, calls: new Map(), applied: 0 };
}

const fronts: Front[] = [frontOf((messages, transfer) => self.postMessage(messages, transfer))];
let backlog = new Backlog(BACKLOG_BYTES);
const progress = new UpdateProgress();
let node: Node | null = null;
let nodeLog: ReturnType<typeof processLog> | null = null;
/** Number of the last push. */
let pushes = 0;
let background: Promise<unknown> = Promise.resolve();

/** Sends a message to the main thread. */
const send = (message: FromNode): void => fronts[0]!.outbox.send(message);

/** Sends a message to all fronts. */
function push(message: NodePush): void {
  pushes = (pushes + 1) | 0;
  for (const front of fronts) front.outbox.send({ ...message, push: pushes });
}

/** Lowers the priority of this thread and of the compiler once the initial sync is over or clients are served. */
function yieldInSync(opened: Node): void {
  if (!opened.chain.initialSync) {
    beginServing();
    opened.sink?.endInitialSync();
  }
  yieldToReplies(NODE_NICE);
  if (isServing()) lowerCompilerThreads(COMPILER_NICE);
}

function fail(error: unknown): void {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  const operator = name === 'OperatorError';
  const { isOfSettings, startsAgain } = error instanceof OperatorError ? error : new OperatorError(message);
  send({ type: 'failed', message: operator ? message : (stack ?? message), operator, isOfSettings, startsAgain });
}

/** Runs the work that follows the opening: imports block files, loads the saved mempool, starts the sandbox. */
async function work(opened: Node, { files, log }: { files: readonly string[]; log: ReturnType<typeof processLog> }) {
  void opened.indexBuilds.buildFilters();
  void opened.indexBuilds.buildIndexes();
  void opened.indexBuilds.followCoinStats();
  opened.sink?.start();
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

self.onmessage = ({ data }: MessageEvent<readonly ToNode[]>) => receiveAll(data, 0);

function receiveAll(messages: readonly ToNode[], index: number): void {
  // The replies to several calls at once go back together as well.
  if (messages.length > 1) fronts[index]!.outbox.collect();
  for (const message of messages) void receive(message, index);
}

async function receive(data: ToNode, index: number): Promise<void> {
  const front = fronts[index]!;
  const { outbox, calls } = front;
  switch (data.type) {
    case 'open':
      try {
        const { config, columns, stopping } = data;
        backlog = new Backlog(BACKLOG_BYTES, 1 + data.fronts.length);
        for (const port of data.fronts) {
          const next = fronts.push(frontOf((messages, transfer) => port.postMessage(messages, transfer)));
          port.on('message', (messages: readonly ToNode[]) => receiveAll(messages, next - 1));
        }
        const log = processLog(config.log);
        nodeLog = log;
        const opened = await Node.open(config, {
          log,
          room: () => backlog.whenRoom(),
          progress,
          columns,
          onFailure: fail,
          isStopping: () => Atomics.load(stopping, 0) !== 0,
        });
        node = opened;
        await opened.prepared();
        // Peers start before the node is reported as opened, since their port may be in use.
        if (config.import.files.length === 0) opened.startPeers();
        yieldInSync(opened);
        send({ type: 'opened', status: opened.status() });
        opened.onUpdate(({ changes: all, commit }) => {
          const changes = withoutBytes(all);
          backlog.addSent(changes.reduce((sum, change) => sum + changeBytes(change), 0));
          const shared = opened.mempool.mempool.entries.drainShared();
          push({ type: 'update', update: { changes, commit, shared }, status: commit && opened.status() });
          progress.recordSent();
        });
        opened.watchStopHeight(() => send({ type: 'stopHeight' }));
        opened.onPeerChange((change) => push({ type: 'peer', change }));
        // During initial block download the node collects garbage after commits.
        GarbageCollector.startPeriodicChecks(systemClock, () => !opened.chain.initialSync);
        const timer = setInterval(() => {
          push({ type: 'status', status: opened.status(), counters: opened.counters() });
          yieldInSync(opened);
          refillReserve();
          const ending = opened.storageStop.ending();
          if (ending) fail(ending);
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
      const before = pushes;
      try {
        if (!node) throw new Error('the node is not open');
        const result = await node.call(data.name, data.args, ending.signal);
        // The fronts must know which wallets are loaded before the client receives the result.
        if (node.changesWallets(data.name)) push({ type: 'status', status: node.status(), counters: node.counters() });
        if (fronts.length > 1) pushSetting(data.name, data.args);
        const last = fronts.length > 1 && pushes !== before ? { push: pushes } : null;
        outbox.send({ type: 'reply', id: data.id, result, ...last }, transferredBuffers(result));
      } catch (error) {
        outbox.send({ type: 'reply', id: data.id, error: error instanceof Error ? error.message : String(error) });
      } finally {
        calls.delete(data.id);
      }
      return;
    }
    case 'cancel':
      calls.get(data.id)?.abort(new Error('the client has disconnected'));
      return;
    case 'acknowledge':
      backlog.acknowledge(data.bytes, index);
      recordApplied(front, data.updates);
      return;
    case 'close':
      backlog.close();
      abort.abort(new Error('the node stops'));
      for (const front of fronts) for (const ending of front.calls.values()) ending.abort(abort.signal.reason);
      try {
        await background;
        await node?.close();
      } catch (error) {
        fail(error);
      }
      acceptHold.end();
      endReserve();
      releaseStartedThreads();
      // The thread is terminated without an exit, at which buffered lines would be written.
      nodeLog?.flush();
      send({ type: 'closed' });
      return;
  }
}

/** Sends the settings that each thread holds itself to all fronts. */
function pushSetting(name: NodeCallName, [value, areConfigured]: readonly unknown[]): void {
  if (name === 'setMockTime') push({ type: 'mockTime', seconds: value as number });
  else if (name === 'setLogLevels')
    push({ type: 'logLevels', levels: value as CategoryLevels, areConfigured: areConfigured === true });
}

/** An update counts as applied when all fronts have applied it. */
function recordApplied(front: Front, updates: number): void {
  const before = Math.min(...fronts.map(({ applied }) => applied));
  front.applied += updates;
  progress.recordApplied(Math.min(...fronts.map(({ applied }) => applied)) - before);
}
