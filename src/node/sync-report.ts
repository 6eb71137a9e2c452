import type { NodeStatus, SyncPhase } from '../port/node-port.ts';
import { durationText } from '../util/duration.ts';
import type { Log } from '../util/log.ts';

/** Progress of the sync with peers, for display. */
export interface SyncProgress {
  readonly phase: 'presync' | 'headers' | 'blocks';
  /** From 0 to 1: share of the headers in the first two phases, of the chain in the last. */
  readonly share: number;
  /** Height of the last header or block, depending on the phase. */
  readonly height: number;
  readonly headers: number;
  /** Headers or blocks per second; null before it is known. */
  readonly perSecond: number | null;
  readonly secondsLeft: number | null;
  readonly peers: number;
}

/** A display of progress beside the log. */
export interface SyncDisplay {
  /** Shows progress; null removes it. */
  show(progress: SyncProgress | null): void;
  /** Whether the display shares a terminal with the log, which then omits progress lines. */
  readonly isInLog: boolean;
}

export type SyncStatusPart = Pick<NodeStatus, 'sync' | 'headers' | 'verificationProgress' | 'peers' | 'network'>;

/** Interval between two lines; SLOW_LINE_MS applies while less than one percent has been added. */
const LINE_MS = 10_000;
const SLOW_LINE_MS = 60_000;
/** Window that rates are averaged over. Blocks are committed in groups, seconds apart. */
const RATE_WINDOW_MS = 60_000;
const LEAST_RATE_MS = 5_000;

const TEXT = {
  presync: 'presynchronizing headers',
  headers: 'synchronizing headers',
  blocks: 'synchronizing blocks',
} as const;

interface Sample {
  readonly atMs: number;
  readonly height: number;
  readonly share: number;
}

/** Reports progress of the sync with peers: log lines at a bounded rate, a display, and one line at the end. */
export class SyncReport {
  readonly #log: Log;
  readonly #display: SyncDisplay | null;
  #window: Sample[] = [];
  #phase: SyncPhase | null = null;
  /** Whether there is a sync to report. A single block that takes long is not reported. */
  #behind = true;
  #behindSince: number | null = null;
  #start: { readonly atMs: number; readonly height: number } | null = null;
  #line: { readonly atMs: number; readonly percent: number; readonly phase: SyncPhase } | null = null;

  constructor(log: Log, display: SyncDisplay | null) {
    this.#log = log;
    this.#display = display;
  }

  /** Called about once a second, with the height of the tip and the monotonic time. */
  update(status: SyncStatusPart, height: number, nowMs: number): void {
    const { phase } = status.sync;
    if (!status.network?.active || phase === 'waiting') this.#pause();
    else if (phase === 'following') this.#following(status, height, nowMs);
    else this.#report(this.#progress(phase, status, height, nowMs), height, nowMs);
  }

  #report(progress: SyncProgress, tipHeight: number, nowMs: number): void {
    this.#behindSince ??= nowMs;
    if (nowMs - this.#behindSince >= LINE_MS) this.#behind = true;
    if (!this.#behind) return;
    this.#start ??= { atMs: nowMs, height: tipHeight };
    this.#display?.show(progress);
    this.#lineOf(progress, nowMs);
  }

  #pause(): void {
    this.#phase = null;
    this.#display?.show(null);
  }

  #following({ sync, peers }: SyncStatusPart, height: number, nowMs: number): void {
    this.#pause();
    this.#behindSince = null;
    // Before a peer has shown its chain, the node may be behind without knowing it.
    if (!this.#behind || !sync.confirmed) return;
    this.#behind = false;
    const start = this.#start;
    this.#start = null;
    this.#line = null;
    this.#log.info('in sync', {
      height,
      blocks: start ? height - start.height : undefined,
      took: start ? durationText((nowMs - start.atMs) / 1000) : undefined,
      peers: peers.inbound + peers.outbound,
    });
  }

  #progress(
    phase: SyncProgress['phase'],
    { sync, headers, verificationProgress, peers }: SyncStatusPart,
    tipHeight: number,
    nowMs: number,
  ): SyncProgress {
    if (phase !== this.#phase) this.#window = [];
    this.#phase = phase;
    const height = phase === 'blocks' ? tipHeight : (sync.presynced ?? headers);
    const share = phase === 'blocks' ? verificationProgress : sync.headersProgress;
    const window = this.#window;
    window.push({ atMs: nowMs, height, share });
    while (window.length > 2 && nowMs - window[1]!.atMs >= RATE_WINDOW_MS) window.shift();
    const first = window[0]!;
    const seconds = (nowMs - first.atMs) / 1000;
    const isLongEnough = nowMs - first.atMs >= LEAST_RATE_MS;
    const done = share - first.share;
    const perSecond = isLongEnough ? (height - first.height) / seconds : null;
    // Close to 1 the share hardly moves. Far from it, past blocks were smaller than the coming ones.
    const ofBlocks = phase === 'blocks' && perSecond ? (headers - height) / perSecond : 0;
    return {
      phase,
      share,
      height,
      headers,
      perSecond,
      secondsLeft: isLongEnough && done > 0 ? Math.round(Math.max(((1 - share) * seconds) / done, ofBlocks)) : null,
      peers: peers.inbound + peers.outbound,
    };
  }

  #lineOf(progress: SyncProgress, nowMs: number): void {
    const { phase, height, headers, perSecond, secondsLeft, peers } = progress;
    const percent = Math.floor(progress.share * 100);
    const last = this.#line;
    if (last) {
      const passed = nowMs - last.atMs;
      if (passed < LINE_MS || (passed < SLOW_LINE_MS && percent === last.percent && phase === last.phase)) return;
    }
    this.#line = { atMs: nowMs, percent, phase };
    if (this.#display?.isInLog) return;
    const rate = perSecond === null ? undefined : Math.round(perSecond * 10) / 10;
    this.#log.info(TEXT[phase], {
      height,
      headers: phase === 'blocks' ? headers : undefined,
      percent,
      [phase === 'blocks' ? 'blocksPerSecond' : 'headersPerSecond']: rate,
      left: secondsLeft === null ? undefined : durationText(secondsLeft),
      peers,
    });
  }
}
