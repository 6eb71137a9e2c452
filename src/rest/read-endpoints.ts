import { ancestorEndpoint, eventTxEndpoint, matchBlockEndpoint, matchTxEndpoint } from '../feed/event-readers.ts';
import { snapshotEndpoint } from '../feed/snapshot-lines.ts';
import { walletBalancesEndpoint } from '../feed/wallet-balances-endpoint.ts';
import { walletBlockEndpoint, walletTxEndpoint } from '../feed/wallet-event-lines.ts';
import type { ReadEndpoint } from '../queries/answer.ts';
import { READ_ROUTES } from './endpoints.ts';

const EVENT_READS = [
  ancestorEndpoint,
  matchBlockEndpoint,
  matchTxEndpoint,
  eventTxEndpoint,
  snapshotEndpoint,
  walletBalancesEndpoint,
  walletBlockEndpoint,
  walletTxEndpoint,
];

/** Endpoints that a reader worker can run, by name. */
export const READ_ENDPOINTS: ReadonlyMap<string, ReadEndpoint<unknown>> = new Map(
  [...READ_ROUTES, ...EVENT_READS].map((read) => [read.name, read as ReadEndpoint<unknown>]),
);
