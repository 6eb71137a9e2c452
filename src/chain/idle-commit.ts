import type { ChainCommitter } from './chain-committer.ts';

/** How long no block must arrive before what was gathered is committed. */
const IDLE_COMMIT_MS = 500;

/** Has what was gathered committed where nothing comes that would have it committed later. */
export class IdleCommit {
  readonly #committer: ChainCommitter;
  readonly #settle: () => Promise<void>;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(commits: ChainCommitter, settle: () => Promise<void>) {
    this.#committer = commits;
    this.#settle = settle;
  }

  disarm(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** Where it is armed already, the time goes on. */
  arm(): void {
    if (this.#timer !== null || !this.#committer.hasChanges) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      // A failure is kept in `stopped`.
      this.#settle().catch(() => {});
    }, IDLE_COMMIT_MS);
  }
}
