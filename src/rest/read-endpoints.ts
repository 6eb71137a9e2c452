import * as events from '../feed/event-readers.ts';
import * as snapshot from '../feed/snapshot.ts';
import * as balances from '../feed/wallet-balances.ts';
import * as wallets from '../feed/wallet-event-lines.ts';
import type { ReadEndpoint } from '../queries/answer.ts';
import * as addresses from './address-endpoints.ts';
import * as addressTxs from './address-txs.ts';
import * as addressUtxos from './address-utxos.ts';
import * as blocks from './block-endpoints.ts';
import * as chain from './chain-endpoints.ts';
import * as mempool from './mempool-endpoints.ts';
import * as txs from './tx-endpoints.ts';

/** Every endpoint that only reads, by the name a reader worker knows it by. */
export const READ_ENDPOINTS: ReadonlyMap<string, ReadEndpoint<unknown>> = new Map(
  [addresses, addressTxs, addressUtxos, balances, blocks, chain, events, mempool, snapshot, txs, wallets]
    .flatMap((exports) => Object.values(exports))
    .filter((value): value is ReadEndpoint<unknown> => typeof value === 'object' && 'run' in value)
    .map((endpoint) => [endpoint.name, endpoint]),
);
