import type { NodeUpdate } from '../port/node-port.ts';
import { INITIAL_SINK_STATUS, type SinkStatus } from '../port/sink-status.ts';
import type { Log } from '../util/log.ts';
import { NoRoomForThread, startWorker } from '../util/worker.ts';
import { MempoolOutbox, type MempoolOutboxOptions } from './mempool-outbox.ts';
import type { FromSink, SinkOpening, ToSink } from './sink-worker-messages.ts';

/** Time limit for the thread to end its transaction, milliseconds. */
const CLOSE_MS = 5000;
/** Pause before a thread that failed is replaced, milliseconds. */
const RESTART_MS = 5000;

/** The mempool of the node, whose events the thread writes. */
export interface SinkMempool extends Pick<MempoolOutboxOptions, 'removed'> {
  /** Called when the events of the mempool begin to be written. */
  readonly onOpen: () => void;
}

/** The thread that writes the chain to the database of `sink.postgres`. */
export class SinkThread {
  readonly #opening: SinkOpening;
  readonly #log: Log;
  readonly #mempool: SinkMempool;
  readonly #outbox: MempoolOutbox;
  #worker: Worker | null = null;
  #restart: ReturnType<typeof setTimeout> | null = null;
  #isSynced = false;
  #isClosing = false;
  #status = INITIAL_SINK_STATUS;
  /** Called when the thread has ended its work, or has failed. */
  #onClosed: () => void = () => {};

  constructor(
    opening: Omit<SinkOpening, 'type'>,
    { log, mempool }: { readonly log: Log; readonly mempool: SinkMempool },
  ) {
    this.#opening = { type: 'open', ...opening };
    this.#log = log;
    this.#mempool = mempool;
    this.#outbox = new MempoolOutbox({
      post: (batch) => this.#worker?.postMessage({ type: 'mempool', batch } satisfies ToSink, [batch.bytes.buffer]),
      removed: mempool.removed,
    });
  }

  get status(): SinkStatus {
    return this.#status;
  }

  /** Starts the thread, which begins to follow the chain. One that fails is replaced after a pause. */
  start(): void {
    if (this.#isClosing) return;
    const worker = this.#startWorker();
    if (worker === null) return;
    this.#worker = worker;
    worker.onmessage = ({ data }: MessageEvent<FromSink>) => {
      if (this.#worker === worker) this.#receive(data);
    };
    worker.onerror = ({ message }) => this.#fail(worker, message);
    worker.addEventListener('close', () => this.#fail(worker, 'the thread has ended'));
    this.#send(this.#opening);
    if (this.#isSynced) this.#send({ type: 'synced' });
  }

  /** Passes on the events of the mempool of an update, in their order. Their transactions must still be readable. */
  addUpdate(update: NodeUpdate): void {
    this.#outbox.addUpdate(update);
  }

  /** Must be called when the initial sync of the node ends: the first fill then creates its indexes. */
  endInitialSync(): void {
    if (this.#isSynced) return;
    this.#isSynced = true;
    if (this.#worker) this.#send({ type: 'synced' });
  }

  /** Ends the running transaction, and the lease, so that another node becomes the leader at once. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#outbox.close();
    if (this.#restart) clearTimeout(this.#restart);
    const worker = this.#worker;
    if (!worker) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onClosed = resolve;
    this.#send({ type: 'close' });
    await Promise.race([promise, Bun.sleep(CLOSE_MS)]);
    worker.terminate();
  }

  /** Returns null where there is no room for another thread now. */
  #startWorker(): Worker | null {
    try {
      return startWorker(new URL('./sink-worker.ts', import.meta.url), 'sink');
    } catch (error) {
      if (!(error instanceof NoRoomForThread)) throw error;
      this.#startLater(error.message);
      return null;
    }
  }

  #receive(message: FromSink): void {
    if (message.type === 'closed') this.#onClosed();
    else if (message.type === 'status') this.#setStatus(message.status);
    else if (message.type === 'released') this.#outbox.release(message.bytes);
    else if (message.isOpen && !this.#isClosing) {
      this.#outbox.open();
      this.#mempool.onOpen();
    } else this.#outbox.close();
  }

  #send(message: ToSink): void {
    this.#worker!.postMessage(message);
  }

  #setStatus(status: SinkStatus): void {
    const before = this.#status;
    this.#status = status;
    const { state, height, problem } = status;
    if (problem !== null && problem !== before.problem) this.#log.warn('the sink cannot be written', { problem });
    else if (problem === null && before.problem !== null) this.#log.info('the sink is written again', { height });
    if (status.rollbacks > before.rollbacks)
      this.#log.warn('the database of the sink lacks events that it had: cursors of before are refused', { height });
    if (state !== before.state) this.#log.info(STATE_TEXT[state], { height });
  }

  #fail(worker: Worker, message: string): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    this.#outbox.reset();
    this.#onClosed();
    if (this.#isClosing) return;
    this.#log.error('the thread of the sink failed, and is started again', { message });
    this.#startLater(message);
  }

  #startLater(problem: string): void {
    this.#status = { ...this.#status, state: 'connecting', problem };
    this.#restart = setTimeout(() => this.start(), RESTART_MS);
  }
}

const STATE_TEXT = {
  connecting: 'the sink connects to its database',
  standby: 'another node writes the sink',
  fill: 'the sink is filled',
  build: 'the sink creates its look-up indexes',
  live: 'the sink follows the chain',
} as const;
