import { boundTo, type PageInput, pageInput } from '../http/input.ts';
import { json } from '../http/route-description.ts';
import { jsonAnswer } from '../queries/answer.ts';
import { addressIndexOf, INDEX_ERRORS } from '../queries/index-reads.ts';
import { readScriptInput, type ScriptInput } from '../queries/script-input.ts';
import { equalBytes } from '../util/bytes.ts';
import { UNITS_PER_CALL } from './call-costs.ts';
import { readEndpoint } from './endpoint.ts';
import {
  HISTORY_FILTERS,
  HISTORY_QUERY,
  type HistoryFilters,
  historyFilters,
  historyPage,
  historySlots,
} from './history-page.ts';
import { ADDRESS } from './parameters.ts';
import { ADDRESS_TXS_PAGE } from './schemas/address-schemas.ts';

interface AddressTxsInput extends PageInput, ScriptInput, HistoryFilters {}

const NO_MEMBERS = {};

/** Returns the `membersOf` of a single script, whose inputs and outputs need no further members. */
export function onlyScript(script: Uint8Array): (other: Uint8Array) => object | null {
  return (other) => (equalBytes(other, script) ? NO_MEMBERS : null);
}

export const addressTxsEndpoint = readEndpoint({
  name: 'address-txs',
  path: '/api/address/:address/txs',
  tag: 'addresses',
  summary: 'Transactions of an address',
  params: { address: ADDRESS },
  query: HISTORY_QUERY,
  response: json(ADDRESS_TXS_PAGE),
  errors: ['invalid_address', 'invalid_cursor', 'cursor_reorged', ...INDEX_ERRORS],
  input({ params, query }, { options, params: network, charge }): AddressTxsInput {
    const script = readScriptInput(params.address, network);
    const path = `/api/address/${script.address}/txs`;
    const page = pageInput(query, path, options.pages.addressTxs, HISTORY_FILTERS);
    const filters = historyFilters(query);
    if (filters.full) charge(Math.ceil(page.limit / UNITS_PER_CALL.fullTxs) - 1);
    return { ...page, ...script, ...filters };
  },
  run(env, input) {
    const { address, script } = input;
    const totals = addressIndexOf(env).totals(script);
    const pending = env.mempool.scriptSums(script);
    const total = { confirmed: totals?.txs ?? 0, mempool: pending.txs };
    const of = {
      scripts: [input],
      keys: totals ? [totals.key] : [],
      txs: total.confirmed + total.mempool,
      membersOf: onlyScript(script),
    };
    const { tip, ...page } = historyPage(env, input, of, boundTo(input));
    return jsonAnswer({ address, tip, total, ...page }, page.next);
  },
  mempoolPart: (env, input) => historySlots(env, [input], input),
});
