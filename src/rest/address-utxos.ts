import { sha256 } from '../crypto/hash-functions.ts';
import { boundTo, pageInput } from '../http/input.ts';
import { json } from '../http/route-description.ts';
import { jsonAnswer } from '../queries/answer.ts';
import { INDEX_ERRORS } from '../queries/index-reads.ts';
import { readScriptInput, type ScriptInput } from '../queries/script-input.ts';
import { ADDRESSES_BODY, readAddresses } from './addresses-body.ts';
import { UNITS_PER_CALL } from './call-costs.ts';
import { readEndpoint } from './endpoint.ts';
import { ADDRESS, CURSOR, flag, LIMIT } from './parameters.ts';
import { ADDRESSES, ALL_UTXOS_PAGE, UTXOS_PAGE } from './schemas/address-schemas.ts';
import { slotsOfScripts, type UtxosInput, utxosPage } from './utxo-page.ts';

const QUERY = { limit: LIMIT, cursor: CURSOR, confirmed: flag('true shows the UTXO set alone') };

export const addressUtxosEndpoint = readEndpoint({
  name: 'address-utxos',
  path: '/api/address/:address/utxos',
  tag: 'addresses',
  summary: 'Unspent outputs of an address',
  params: { address: ADDRESS },
  query: QUERY,
  response: json(UTXOS_PAGE),
  errors: ['invalid_address', 'invalid_cursor', 'cursor_reorged', ...INDEX_ERRORS],
  input({ params, query }, { options, params: network }): UtxosInput {
    const script = readScriptInput(params.address, network);
    const path = `/api/address/${script.address}/utxos`;
    const page = pageInput(query, path, options.pages.utxos, ['confirmed']);
    return { ...page, scripts: [script], confirmed: query.confirmed === 'true' };
  },
  run(env, input) {
    const { items, ...page } = utxosPage(env, input, boundTo(input));
    const { address } = input.scripts[0]!;
    return jsonAnswer({ address, ...page, items: items.map(({ address: _, ...item }) => item) }, page.next);
  },
  // A transaction that spends a coin of a script touches the script.
  mempoolPart: ({ mempool }, { scripts }) => slotsOfScripts(mempool, scripts),
});

interface AllUtxosInput extends UtxosInput {
  /** Hash of the set of scripts, to which cursors are bound. */
  readonly set: string;
}

/** Unspent outputs of many addresses in one list. */
export const utxosEndpoint = readEndpoint({
  name: 'utxos',
  method: 'POST',
  path: '/api/utxos',
  tag: 'addresses',
  summary: 'Unspent outputs of many addresses',
  description:
    'One list in the order of the chain, the mempool last, at one tip. An address that is given twice counts once. The ' +
    'next page is the same request with the path and query of `next`; its addresses may be in another order.',
  query: QUERY,
  body: [json(ADDRESSES)],
  bodyLimit: ADDRESSES_BODY,
  response: json(ALL_UTXOS_PAGE),
  errors: ['invalid_address', 'invalid_cursor', 'cursor_reorged', ...INDEX_ERRORS],
  async input({ query, request }, { options, params: network, charge }): Promise<AllUtxosInput> {
    const page = pageInput(query, '/api/utxos', options.pages.utxos, ['confirmed']);
    const scripts = distinct(await readAddresses(request, network));
    charge(Math.max(0, Math.ceil(scripts.length / UNITS_PER_CALL.addresses) - 1));
    return { ...page, scripts, set: setOf(scripts), confirmed: query.confirmed === 'true' };
  },
  run(env, input) {
    const page = utxosPage(env, input, `${boundTo(input)} ${input.set}`);
    // The request is a POST, whose replies are not cached.
    return { ...jsonAnswer(page, page.next), freshness: 'none' };
  },
  mempoolPart: ({ mempool }, { scripts }) => slotsOfScripts(mempool, scripts),
});

function distinct(scripts: readonly ScriptInput[]): ScriptInput[] {
  return [...new Map(scripts.map((each) => [each.script.toHex(), each])).values()];
}

function setOf(scripts: readonly ScriptInput[]): string {
  const sorted = scripts.map(({ script }) => script.toHex()).sort();
  return sha256(new TextEncoder().encode(sorted.join(' '))).toHex();
}
