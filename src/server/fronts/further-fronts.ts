import type { MessagePort } from 'node:worker_threads';
import type { WrittenWatches } from '../../feed/stored-watches.ts';
import type { ApiReload } from '../../http/live-options.ts';
import { aborted } from '../../util/abort.ts';
import type { DisabledWebhook } from '../../webhooks/webhooks.ts';
import type { CheckResult } from '../ops/readiness.ts';
import type { FrontCalls, FrontVisitor, OwnerCalls } from './front-calls.ts';
import { FrontLink, type Handlers } from './front-link.ts';

/** Time limit of an announcement: a front that hangs must not hold up the others for long, milliseconds. */
const ANNOUNCE_MS = 1000;
/** Time limit of changed options: no request waits for it, and a front under load opens its listener late, milliseconds. */
const RELOAD_MS = 10_000;
/** Time limits of the visitors of a front, and of its metrics, milliseconds. */
const VISITORS_MS = 200;
const METRICS_MS = 1000;

type Link = FrontLink<OwnerCalls, FrontCalls>;

const DONE = Promise.resolve(null);

interface Front {
  readonly link: Link;
  /** Whether it listens, so that it has requests to end. */
  serves: boolean;
  /** Its visitors when it last answered. */
  visitors: readonly FrontVisitor[];
}

/** The further fronts, as the first one reaches them. */
export class FurtherFronts {
  readonly #fronts: Front[] = [];
  #handlers: ((caller: number) => Handlers<OwnerCalls>) | null = null;

  /** Sets the functions that answer the calls of a front, by its place in the list. Call it before `add`. */
  serve(handlers: (caller: number) => Handlers<OwnerCalls>): void {
    this.#handlers = handlers;
  }

  /** Adds a front that starts. It answers calls when it is about to listen. */
  add(port: MessagePort): void {
    const link = new FrontLink<OwnerCalls, FrontCalls>(port, this.#handlers!(this.#fronts.length));
    this.#fronts.push({ link, serves: false, visitors: [] });
  }

  /** Records that a front listens, by its place in the list. */
  serves(index: number): void {
    this.#fronts[index]!.serves = true;
  }

  /** Ends the calls to a front that has failed, by its place in the list. */
  lose(index: number): void {
    this.#fronts[index]!.link.close();
  }

  /** Resolves when the fronts have reloaded the keys, except for the one that has changed them. */
  async announceKeys(caller: number | null = null): Promise<void> {
    await this.#announce((link) => link.call('reloadKeys', []), caller);
  }

  /** Resolves when the fronts have applied changed options; to false if one has not in time. */
  async announceReload(change: ApiReload): Promise<boolean> {
    const results = await this.#collect((link) => link.call('reload', [change]).then(() => true), RELOAD_MS);
    return !results.includes(null);
  }

  /** Resolves when the fronts have closed what belongs to sessions that have ended. */
  async announceEndedSessions(ids: readonly string[]): Promise<void> {
    await this.#announce((link) => link.call('forgetSessions', [ids]));
  }

  /** Resolves when the fronts have applied a change of stored watches. */
  async announceWatches(owner: string, written: WrittenWatches): Promise<void> {
    await this.#announce((link) => link.call('applyWatches', [owner, written]));
  }

  /** Sends a message of one key to its WebSocket connections on these fronts. */
  announceDisabledWebhook(notice: DisabledWebhook): void {
    void this.#announce((link) => link.call('announceDisabledWebhook', [notice]));
  }

  /**
   * Resolves with the readiness of all fronts. `isBehind` says whether an event number is too old for the newest one that a
   * front has sent.
   */
  async check(isBehind: (seq: number) => boolean, budgetMs: number): Promise<CheckResult> {
    const count = 1 + this.#fronts.length;
    const answers = await this.#collect((link) => link.call('check', []), budgetMs);
    if (answers.includes(null)) return { status: 'fail', message: 'a front does not answer', count };
    if (answers.some((seq) => isBehind(seq!))) return { status: 'degraded', message: 'delivery is behind', count };
    return { status: 'ok', count };
  }

  /** Returns the metrics of the fronts that answer. */
  async metrics(): Promise<string[]> {
    const texts = await this.#collect((link) => link.call('metrics', []), METRICS_MS);
    return texts.filter((text) => text !== null);
  }

  /**
   * Returns the visitors of all fronts, by their peers, after they have removed the closed ones. Those of a front that
   * does not answer in time are the ones of its last answer.
   */
  async visitors(peers: ReadonlySet<string>, since: number): Promise<ReadonlyMap<string, FrontVisitor>> {
    const lists = await this.#collect((link) => link.call('visitors', [peers, since]), VISITORS_MS);
    for (const [i, list] of lists.entries()) if (list) this.#fronts[i]!.visitors = list;
    return new Map(this.#fronts.flatMap(({ visitors }) => visitors.map((visitor) => [visitor.peer, visitor] as const)));
  }

  /** Resolves when all fronts have stopped, or after the time limit. Those that do not listen yet are not awaited. */
  async stop(reason: string, ms: number): Promise<void> {
    await this.#collect((link, i) => (this.#fronts[i]!.serves ? link.call('stop', [reason]) : DONE), ms);
    for (const { link } of this.#fronts) link.close();
  }

  async #announce(send: (link: Link) => Promise<unknown>, except: number | null = null): Promise<void> {
    await this.#collect((link, i) => (i === except ? DONE : send(link)), ANNOUNCE_MS);
  }

  /** Calls all fronts. A front that fails or does not answer in time has the result null. */
  async #collect<T>(call: (link: Link, index: number) => Promise<T>, ms: number): Promise<(T | null)[]> {
    if (this.#fronts.length === 0) return [];
    const late = aborted(AbortSignal.timeout(ms)).then(() => null);
    return Promise.all(this.#fronts.map(({ link }, i) => Promise.race([call(link, i).catch(() => null), late])));
  }
}
