import type { Log } from '../../util/log.ts';
import type { LogFields } from '../../util/log-levels.ts';
import type { AddrManager } from '../address/addr-manager.ts';
import type { Connection, ConnectionEvents, Direction } from './connection.ts';
import type { ConnectionTable } from './connection-table.ts';
import type { MessageCapture } from './message-capture.ts';
import { MessageScheduler } from './message-scheduler.ts';
import type { NetTotals } from './net-totals.ts';
import type { PeerLogic } from './peer-link.ts';
import { PeerMemory } from './peer-memory.ts';

export interface EventParts {
  readonly table: ConnectionTable;
  readonly totals: NetTotals;
  readonly addresses: AddrManager;
  readonly log: Log;
  /** Writes all messages to files; null for none. */
  readonly capture: MessageCapture | null;
  /** Called when the handshake with an onion service goes well. */
  readonly reachedOnion: () => void;
  /** Retries with v1 after a v2 connection failed. */
  readonly retryV1: (connection: Connection) => void;
}

/** Types of connections that show in the time of an address. */
const TIMED: ReadonlySet<string> = new Set(['manual', 'outbound-full-relay', 'feeler', 'addr-fetch']);

/** Forwards the events of connections to the protocol logic, and updates totals and memory accounts. */
export class LogicEvents implements ConnectionEvents {
  readonly #parts: EventParts;
  readonly #logic: PeerLogic;
  readonly #scheduler: MessageScheduler;
  readonly #memory: PeerMemory;

  constructor(logic: PeerLogic, parts: EventParts) {
    this.#parts = parts;
    this.#logic = logic;
    this.#scheduler = new MessageScheduler(captured(logic, parts.capture), parts.log);
    this.#memory = new PeerMemory(parts.table, parts.log);
  }

  opened(connection: Connection): void {
    const { id, type, network, protocol } = connection;
    this.#parts.log.debug('connection opened', { peer: id, type, network, protocol });
    this.#guarded(connection, () => this.#logic.opened(connection));
  }

  messageReady(connection: Connection): void {
    this.#scheduler.schedule(connection);
  }

  transferred(sent: number, received: number): void {
    this.#parts.totals.transferred(sent, received);
  }

  message(direction: Direction, type: string): void {
    this.#parts.totals.message(direction, type);
  }

  sent(connection: Connection, type: string, payload: Uint8Array): void {
    const { log, capture } = this.#parts;
    if (log.enabled('debug')) log.debug('message sent', { peer: connection.id, type, bytes: payload.length });
    capture?.record(connection, 'sent', type, payload);
    if (type === 'verack' && connection.type !== 'inbound' && connection.service.address.network === 'onion')
      this.#parts.reachedOnion();
  }

  failed({ id, protocol }: Connection, reason: string, facts?: LogFields): void {
    this.#parts.log.debug('bytes not understood', { peer: id, protocol, reason, ...facts });
  }

  get memoryHigh(): boolean {
    return this.#memory.isHigh;
  }

  memoryChanged(bytes: number): void {
    this.#memory.update(bytes);
  }

  closing({ id, type, closeFacts }: Connection, reason: string): void {
    this.#parts.log.debug('connection closed', { peer: id, type, reason, ...closeFacts });
  }

  closed(connection: Connection, reason: string): void {
    const { table, totals, addresses, retryV1 } = this.#parts;
    const { type, service, standing, opened } = connection;
    table.remove(connection);
    this.#scheduler.removeConnection(connection);
    totals.closed(reason);
    // The time of other peers is not updated, so that it does not reveal them.
    if (standing.established && TIMED.has(type)) addresses.connected(service);
    if (opened) this.#guarded(connection, () => this.#logic.closed(connection, reason));
    if (connection.shouldRetryV1) retryV1(connection);
    this.#parts.log.debug('peer removed', { peer: connection.id });
  }

  internalError(connection: Connection, error: unknown): void {
    this.#parts.log.error('peer could not be processed', { peer: connection.id, error });
  }

  /** Stops the delivery of messages. */
  stop(): void {
    this.#scheduler.stop();
  }

  #guarded(connection: Connection, call: () => void): void {
    try {
      call();
    } catch (error) {
      this.internalError(connection, error);
      connection.disconnect('internal error');
    }
  }
}

/** Returns the logic, with each message recorded before it is processed. */
function captured(logic: PeerLogic, capture: MessageCapture | null): Pick<PeerLogic, 'message'> {
  if (capture === null) return logic;
  return {
    message(link, message) {
      capture.record(link, 'received', message.type, message.payload);
      return logic.message(link, message);
    },
  };
}
