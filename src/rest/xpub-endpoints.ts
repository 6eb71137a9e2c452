import { type PageInput, pageInput } from '../http/input.ts';
import { json } from '../http/route-description.ts';
import { jsonAnswer } from '../queries/answer.ts';
import type { DerivedScript } from '../queries/derived-scripts.ts';
import {
  type DescriptorInput,
  type DescriptorUsage,
  descriptorUsage,
  usedScripts,
} from '../queries/descriptor-usage.ts';
import { INDEX_ERRORS } from '../queries/index-reads.ts';
import { DESCRIPTOR_ERRORS } from '../queries/watched-descriptor.ts';
import { descriptorSummary, distinctTxs, type ShownAddresses } from '../views/rest/descriptor-view.ts';
import { UNITS_PER_CALL } from './call-costs.ts';
import { readEndpoint } from './endpoint.ts';
import {
  HISTORY_FILTERS,
  HISTORY_QUERY,
  type HistoryFilters,
  type HistoryScripts,
  historyFilters,
  historyPage,
  historySlots,
} from './history-page.ts';
import { CURSOR, choice, flag, LIMIT } from './parameters.ts';
import {
  DESCRIPTOR_REQUEST,
  DESCRIPTOR_SUMMARY,
  DESCRIPTOR_TXS_PAGE,
  DESCRIPTOR_UTXOS_PAGE,
} from './schemas/xpub-schemas.ts';
import { slotsOfScripts, utxosPage } from './utxo-page.ts';
import { extraCost, readDescriptorBody, XPUB_BODY } from './xpub-body.ts';
import { boundToDescriptor, descriptorPage, withExamined } from './xpub-cursor.ts';

const ERRORS = [...DESCRIPTOR_ERRORS, ...INDEX_ERRORS] as const;
const PAGE_ERRORS = ['invalid_cursor', 'cursor_reorged', ...ERRORS] as const;
const BODY = [json(DESCRIPTOR_REQUEST)];
const SCRIPTS =
  'The scripts are derived from index 0 on, in each branch up to the gap limit; at most 10,000 in all. Private keys are ' +
  'refused. ';
const PAGES =
  'The next page is the same request with the path and query of `next`, and the same body: a cursor belongs to its ' +
  'descriptor and its gap limit. All pages show the scripts that the first one has found: a payment in between may move ' +
  'the gap, and the scripts behind it are in the next list.';

interface SummaryInput extends DescriptorInput {
  readonly addresses: ShownAddresses;
}

/** Balance, addresses and next unused addresses of a descriptor. */
export const xpubEndpoint = readEndpoint({
  name: 'xpub',
  method: 'POST',
  path: '/api/xpub',
  tag: 'addresses',
  summary: 'Balance and addresses of a descriptor or extended public key',
  description: `${SCRIPTS}All members are of one tip and one state of the mempool.`,
  query: { addresses: choice(['used', 'funded', 'all', 'none'], 'the addresses in the reply') },
  body: BODY,
  bodyLimit: XPUB_BODY,
  response: json(DESCRIPTOR_SUMMARY),
  errors: ERRORS,
  async input({ query, request }, { charge }): Promise<SummaryInput> {
    const input = { ...(await readDescriptorBody(request)), examined: null };
    charge(extraCost(input));
    return { ...input, addresses: query.addresses ?? 'used' };
  },
  run(env, input) {
    const usage = descriptorUsage(env, input);
    const mempoolTxs = slotsOfScripts(env.mempool, scriptsOf(usage)).length;
    // The request is a POST, whose replies are not cached.
    return { ...jsonAnswer(descriptorSummary(env, usage, { ...input, mempoolTxs })), freshness: 'none' };
  },
  // The worker requests the transactions of the scripts that it derives.
  mempoolPart: () => [],
});

interface XpubTxsInput extends DescriptorInput, PageInput, HistoryFilters {}

/** Transactions of a descriptor. */
export const xpubTxsEndpoint = readEndpoint({
  name: 'xpub-txs',
  method: 'POST',
  path: '/api/xpub/txs',
  tag: 'addresses',
  summary: 'Transactions of a descriptor or extended public key',
  description: `${SCRIPTS}${PAGES}`,
  query: HISTORY_QUERY,
  body: BODY,
  bodyLimit: XPUB_BODY,
  response: json(DESCRIPTOR_TXS_PAGE),
  errors: PAGE_ERRORS,
  async input({ query, request }, { options, charge }): Promise<XpubTxsInput> {
    const body = await readDescriptorBody(request);
    const page = descriptorPage(pageInput(query, '/api/xpub/txs', options.pages.addressTxs, HISTORY_FILTERS));
    const filters = historyFilters(query);
    const input = { ...body, ...page };
    charge(extraCost(input) + (filters.full ? Math.ceil(page.limit / UNITS_PER_CALL.fullTxs) - 1 : 0));
    return { ...input, ...filters };
  },
  run(env, input) {
    const usage = descriptorUsage(env, input);
    const of = historyScripts(usage);
    const waiting = historySlots(env, of.scripts, { full: false });
    const total = { confirmed: distinctTxs(env, usage), mempool: waiting.length };
    const { tip, ...page } = historyPage(env, input, of, boundToDescriptor(input, usage), withExamined(usage));
    const body = { descriptor: usage.watched.text, tip, total, ...page };
    return { ...jsonAnswer(body, page.next), freshness: 'none' };
  },
  mempoolPart: () => [],
});

interface XpubUtxosInput extends DescriptorInput, PageInput {
  /** Whether to show the UTXO set alone, with the spends of the mempool marked. */
  readonly confirmed: boolean;
}

/** Unspent outputs of a descriptor. */
export const xpubUtxosEndpoint = readEndpoint({
  name: 'xpub-utxos',
  method: 'POST',
  path: '/api/xpub/utxos',
  tag: 'addresses',
  summary: 'Unspent outputs of a descriptor or extended public key',
  description: `${SCRIPTS}${PAGES}`,
  query: { limit: LIMIT, cursor: CURSOR, confirmed: flag('true shows the UTXO set alone') },
  body: BODY,
  bodyLimit: XPUB_BODY,
  response: json(DESCRIPTOR_UTXOS_PAGE),
  errors: PAGE_ERRORS,
  async input({ query, request }, { options, charge }): Promise<XpubUtxosInput> {
    const body = await readDescriptorBody(request);
    const input = {
      ...body,
      ...descriptorPage(pageInput(query, '/api/xpub/utxos', options.pages.utxos, ['confirmed'])),
    };
    charge(extraCost(input));
    return { ...input, confirmed: query.confirmed === 'true' };
  },
  run(env, input) {
    const usage = descriptorUsage(env, input);
    const scripts = scriptsOf(usage);
    const bound = boundToDescriptor(input, usage);
    const { tip, total, items, ...page } = utxosPage(env, { ...input, scripts }, bound, withExamined(usage));
    const places = new Map(scripts.map((script) => [script.address, placeOf(script)]));
    const placed = items.map((item) => ({ ...item, ...places.get(item.address)! }));
    const body = { descriptor: usage.watched.text, tip, total, items: placed, ...page };
    return { ...jsonAnswer(body, page.next), freshness: 'none' };
  },
  mempoolPart: () => [],
});

function scriptsOf(usage: DescriptorUsage): DerivedScript[] {
  return usedScripts(usage).map(({ derived }) => derived);
}

function historyScripts(usage: DescriptorUsage): HistoryScripts {
  const used = usedScripts(usage);
  const members = new Map(used.map(({ derived }) => [derived.script.toHex(), placeOf(derived)]));
  return {
    scripts: used.map(({ derived }) => derived),
    keys: used.flatMap(({ totals }) => totals?.key ?? []),
    txs: used.reduce((sum, { totals, pending }) => sum + (totals?.txs ?? 0) + pending.txs, 0),
    membersOf: (script) => members.get(script.toHex()) ?? null,
  };
}

function placeOf({ address, branch, index }: DerivedScript) {
  return { address, branch, index };
}
