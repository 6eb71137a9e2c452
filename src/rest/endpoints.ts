import { addressEndpoint, balanceEndpoint, balancesEndpoint, validateEndpoint } from './address-endpoints.ts';
import { addressTxsEndpoint } from './address-txs.ts';
import { addressUtxosEndpoint, utxosEndpoint } from './address-utxos.ts';
import { auditEndpoint } from './audit-endpoint.ts';
import {
  blockByHeightEndpoint,
  blockEndpoint,
  blockHeaderEndpoint,
  blockHexEndpoint,
  blockRawEndpoint,
  blockStatusEndpoint,
  blocksEndpoint,
  blockTxidsEndpoint,
  blockTxsEndpoint,
  headersEndpoint,
  tipEndpoint,
} from './block-endpoints.ts';
import { broadcastEndpoint, packageEndpoint, testTxsEndpoint } from './broadcast-endpoints.ts';
import {
  circulatingEndpoint,
  difficultyEndpoint,
  issuedEndpoint,
  maxEndpoint,
  totalEndpoint,
} from './chain-endpoints.ts';
import { chartEndpoint } from './chart-endpoint.ts';
import type { Endpoint } from './endpoint.ts';
import { eventsEndpoint } from './events-endpoint.ts';
import { keysEndpoint } from './keys-endpoint.ts';
import { limitsEndpoint } from './limits-endpoint.ts';
import {
  feesEndpoint,
  mempoolAddressEndpoint,
  mempoolBlocksEndpoint,
  mempoolEndpoint,
  mempoolRecentEndpoint,
  mempoolTxidsEndpoint,
} from './mempool-endpoints.ts';
import { infoEndpoint, listingEndpoint, peersEndpoint } from './node-endpoints.ts';
import { outspendEndpoint, outspendsEndpoint } from './outspend-endpoints.ts';
import { logInEndpoint, logOutEndpoint, sessionEndpoint } from './session-endpoints.ts';
import { streamEndpoint } from './stream-endpoint.ts';
import { ticketEndpoint } from './ticket-endpoint.ts';
import {
  txEndpoint,
  txHexEndpoint,
  txProofEndpoint,
  txRawEndpoint,
  txStatusEndpoint,
  txsStatusEndpoint,
} from './tx-endpoints.ts';
import { cpfpEndpoint, replacementsEndpoint } from './tx-relatives.ts';
import { txsDetailsEndpoint } from './txs-details.ts';
import {
  putWatchesEndpoint,
  removeWatchEndpoint,
  removeWatchesEndpoint,
  watchEndpoint,
  watchesEndpoint,
} from './watch-endpoints.ts';
import {
  createWebhookEndpoint,
  pauseWebhookEndpoint,
  removeWebhookEndpoint,
  replayWebhookEndpoint,
  resumeWebhookEndpoint,
  testWebhookEndpoint,
  webhookEndpoint,
  webhookSecretEndpoint,
  webhooksEndpoint,
} from './webhook-endpoints.ts';
import { xpubEndpoint, xpubTxsEndpoint, xpubUtxosEndpoint } from './xpub-endpoints.ts';

/** Routes that only read the chain and the mempool. Reader workers can answer them as well. */
export const READ_ROUTES = [
  blockEndpoint,
  blockByHeightEndpoint,
  blocksEndpoint,
  tipEndpoint,
  blockTxsEndpoint,
  blockTxidsEndpoint,
  blockHeaderEndpoint,
  blockRawEndpoint,
  blockHexEndpoint,
  blockStatusEndpoint,
  headersEndpoint,
  txEndpoint,
  txProofEndpoint,
  txStatusEndpoint,
  txHexEndpoint,
  txRawEndpoint,
  txsStatusEndpoint,
  txsDetailsEndpoint,
  outspendsEndpoint,
  outspendEndpoint,
  cpfpEndpoint,
  balanceEndpoint,
  balancesEndpoint,
  addressEndpoint,
  addressTxsEndpoint,
  addressUtxosEndpoint,
  utxosEndpoint,
  xpubEndpoint,
  xpubTxsEndpoint,
  xpubUtxosEndpoint,
  validateEndpoint,
  mempoolAddressEndpoint,
  difficultyEndpoint,
  chartEndpoint,
  circulatingEndpoint,
  issuedEndpoint,
  totalEndpoint,
  maxEndpoint,
];

/** Every route of the REST interface, in the order of the documentation. */
export const ENDPOINTS: readonly Endpoint[] = [
  ...READ_ROUTES,
  replacementsEndpoint,
  broadcastEndpoint,
  testTxsEndpoint,
  packageEndpoint,
  mempoolEndpoint,
  mempoolTxidsEndpoint,
  mempoolRecentEndpoint,
  mempoolBlocksEndpoint,
  feesEndpoint,
  infoEndpoint,
  peersEndpoint,
  listingEndpoint,
  eventsEndpoint,
  streamEndpoint,
  watchesEndpoint,
  putWatchesEndpoint,
  removeWatchesEndpoint,
  watchEndpoint,
  removeWatchEndpoint,
  ticketEndpoint,
  limitsEndpoint,
  webhooksEndpoint,
  createWebhookEndpoint,
  webhookEndpoint,
  removeWebhookEndpoint,
  pauseWebhookEndpoint,
  resumeWebhookEndpoint,
  replayWebhookEndpoint,
  webhookSecretEndpoint,
  testWebhookEndpoint,
  logInEndpoint,
  sessionEndpoint,
  logOutEndpoint,
  keysEndpoint,
  auditEndpoint,
];
