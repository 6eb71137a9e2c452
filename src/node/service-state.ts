import type { ServiceNotifier } from '../util/systemd.ts';
import type { SyncStatusPart } from './sync-report.ts';

/** The values that the status line shows. */
export type ServiceFigures = SyncStatusPart & { readonly stopped: string | null };

/** Notifies the service manager of the start, reloads and the stop, and of a line for `systemctl status`. */
export class ServiceState {
  readonly #service: ServiceNotifier;
  #phase: 'starting' | 'ready' | 'stopping' = 'starting';
  #reloads = 0;
  #line = '';

  constructor(service: ServiceNotifier) {
    this.#service = service;
    this.#show('opening the databases');
  }

  /** All listeners are open, and requests are answered. */
  ready(): void {
    this.#phase = 'ready';
    if (this.#reloads === 0) this.#service.ready();
  }

  /** Called about once a second. */
  update(figures: ServiceFigures, height: number): void {
    if (this.#phase === 'ready') this.#show(statusLine(figures, height));
  }

  /**
   * Runs a reload and reports its beginning and end. The manager takes the end as READY=1, so that a reload of a node that
   * still starts, or already stops, is not reported.
   */
  async reload(run: () => Promise<void> | void): Promise<void> {
    const isReported = this.#phase === 'ready';
    if (isReported) {
      this.#reloads++;
      this.#service.reloading();
    }
    try {
      await run();
    } finally {
      if (isReported && --this.#reloads === 0 && this.#phase === 'ready') this.#service.ready();
    }
  }

  /** `startsAgain`: the program starts again within its process, which is a reload for the manager. */
  stopping({ startsAgain = false } = {}): void {
    this.#phase = 'stopping';
    if (startsAgain) this.#service.reloading();
    else this.#service.stopping();
    this.#show('writing caches and closing the databases');
  }

  #show(line: string): void {
    if (line === this.#line) return;
    this.#line = line;
    this.#service.status(line);
  }
}

/** Returns the line for an open node, such as `height 812,000 of 870,000 (93.10 %), 8 peers`. */
export function statusLine(
  { sync, headers, verificationProgress, peers, network, stopped }: ServiceFigures,
  height: number,
): string {
  const at = `height ${grouped(height)}`;
  if (stopped !== null) return `${at}: no more blocks are accepted, the log has the reason`;
  const connected = peers.inbound + peers.outbound;
  const beside = network?.active ? `, ${connected} ${connected === 1 ? 'peer' : 'peers'}` : ', no peer network';
  switch (sync.phase) {
    case 'presync':
    case 'headers': {
      const known = grouped(sync.presynced ?? headers);
      return `${at}, downloading headers: ${known} (${percent(sync.headersProgress)})${beside}`;
    }
    case 'blocks':
      return `${at} of ${grouped(headers)} (${percent(verificationProgress)})${beside}`;
    case 'following':
    case 'waiting':
      return `${at}${sync.confirmed ? ', in sync' : ''}${beside}`;
  }
}

/** Rounds down, so that 100 % is the end. */
function percent(share: number): string {
  return `${(Math.floor(share * 10_000) / 100).toFixed(2)} %`;
}

function grouped(height: number): string {
  return height.toLocaleString('en-US');
}
