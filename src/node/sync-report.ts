import type { NodeStatus, SyncPhase } from '../port/node-port.ts';
import { durationText } from '../util/duration.ts';
import type { Log } from '../util/log.ts';

/** How the sync with peers goes, for people. */
export interface SyncProgress {
  readonly phase: 'presync' | 'headers' | 'blocks';
  /** 0 to 1: of the headers in the first two phases, of the chain in the last. */
  readonly share: number;
  /** Of the last header or block that was taken, as the phase is. */
  readonly height: number;
  readonly headers: number;
  /** Headers or blocks; null before it is known. */
  readonly perSecond: number | null;
  readonly secondsLeft: number | null;
  readonly peers: number;
}

/** Where progress is shown beside the log. */
export interface SyncDisplay {
  /** Null takes it away. */
  show(progress: SyncProgress | null): void;
  /** Whoever reads the log sees this too, so lines of progress would say the same twice. */
  readonly isInLog: boolean;
}

export type SyncStatusPart = Pick<NodeStatus, 'sync' | 'headers' | 'verificationProgress' | 'peers' | 'network'>;

/** Between two lines at least; and at most, while less than a hundredth is done in the meantime. */
const LINE_MS = 10_000;
const SLOW_LINE_MS = 60_000;
/** Rates are those of about this long; blocks come in commits, seconds apart. */
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

/** Tells how the sync with peers goes: lines in the log, at a bounded rate, a display, and one line when it is done. */
export class SyncReport {
  readonly #log: Log;
  readonly #display: SyncDisplay | null;
  #window: Sample[] = [];
  #phase: SyncPhase | null = null;
  /** Something is to be caught up with that is worth telling; a block that takes a while is not. */
  #behind = true;
  #behindSince: number | null = null;
  #start: { readonly atMs: number; readonly height: number } | null = null;
  #line: { readonly atMs: number; readonly percent: number; readonly phase: SyncPhase } | null = null;

  constructor(log: Log, display: SyncDisplay | null) {
    this.#log = log;
    this.#display = display;
  }

  /** To be called about every second, with the height of the tip and the monotonic time. */
  update(status: SyncStatusPart, height: number, nowMs: number): void {
    const { phase } = status.sync;
    if (!status.network?.active || phase === 'waiting') this.#pause();
    else if (phase === 'following') this.#following(status, height, nowMs);
    else this.#tell(this.#progress(phase, status, height, nowMs), height, nowMs);
  }

  #tell(progress: SyncProgress, tipHeight: number, nowMs: number): void {
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
    // Before a peer has said what there is, we may be behind and not know it.
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
    // Where the share is almost 1 it hardly moves; far from there, blocks were smaller than they will be.
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
