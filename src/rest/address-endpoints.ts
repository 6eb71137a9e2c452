import { COINBASE_MATURITY } from '../consensus/limits.ts';
import { json } from '../http/route-description.ts';
import { sat } from '../http/sat.ts';
import { jsonAnswer } from '../queries/answer.ts';
import { tipView } from '../queries/block-facts.ts';
import { addressIndexOf, INDEX_ERRORS } from '../queries/index-reads.ts';
import type { ReadEnv } from '../queries/read-env.ts';
import { bareScript, readScriptInput, type ScriptInput } from '../queries/script-input.ts';
import { parseAddress } from '../script/address.ts';
import { scriptType } from '../script/templates.ts';
import { scriptView } from '../views/rest/script-view.ts';
import { ADDRESSES_BODY, readAddresses } from './addresses-body.ts';
import { UNITS_PER_CALL } from './call-costs.ts';
import { type InputContext, readEndpoint } from './endpoint.ts';
import { ADDRESS } from './parameters.ts';
import { ADDRESS_CHECK, ADDRESS_FACTS, ADDRESSES, BALANCE, BALANCES } from './schemas/address-schemas.ts';
import { slotsOfScripts } from './utxo-page.ts';

/** Time to read the balance of one address, microseconds. */
const BALANCE_US = 100;

const scriptOf = ({ params }: { readonly params: { readonly address: string } }, known: InputContext): ScriptInput =>
  readScriptInput(params.address, known.params);

export const balanceEndpoint = readEndpoint({
  name: 'balance',
  path: '/api/balance/:address',
  tag: 'addresses',
  summary: 'Balance of an address',
  params: { address: ADDRESS },
  response: json(BALANCE),
  errors: ['invalid_address', ...INDEX_ERRORS],
  input: scriptOf,
  run: (env, input) => jsonAnswer(balanceView(env, input)),
});

/** The balance and the type of an address. */
export const addressEndpoint = readEndpoint({
  name: 'address',
  path: '/api/address/:address',
  tag: 'addresses',
  summary: 'An address and its balance',
  params: { address: ADDRESS },
  response: json(ADDRESS_FACTS),
  errors: ['invalid_address', ...INDEX_ERRORS],
  input: scriptOf,
  run(env, input) {
    const { address, ...rest } = balanceView(env, input);
    return jsonAnswer({ address, isValid: true, type: scriptType(input.script).type, ...rest });
  },
});

/** The balances of many addresses. */
export const balancesEndpoint = readEndpoint({
  name: 'balances',
  method: 'POST',
  path: '/api/balances',
  tag: 'addresses',
  summary: 'Balances of many addresses',
  description: 'All of them at one tip, each as in `GET /api/balance/{address}`.',
  body: [json(ADDRESSES)],
  bodyLimit: ADDRESSES_BODY,
  response: json(BALANCES),
  errors: ['invalid_address', ...INDEX_ERRORS],
  async input({ request }, { params, charge }): Promise<{ scripts: readonly ScriptInput[] }> {
    const scripts = await readAddresses(request, params);
    charge(Math.max(0, Math.ceil(scripts.length / UNITS_PER_CALL.addresses) - 1));
    return { scripts };
  },
  run(env, { scripts }) {
    env.expectWork(scripts.length * BALANCE_US);
    env.reads.expectRows({ scripts: scripts.map(({ script }) => script) });
    const items = scripts.map((script) => {
      env.expectWork(0);
      return balanceView(env, script);
    });
    // The request is a POST, whose replies are not cached.
    return { ...jsonAnswer({ tip: tipView(env.tip), items }), freshness: 'none' };
  },
  mempoolPart: ({ mempool }, { scripts }) => slotsOfScripts(mempool, scripts),
});

function balanceView(env: ReadEnv, { address, script }: ScriptInput) {
  const { reads, tip, params, mempool } = env;
  const totals = addressIndexOf(env).totals(script);
  const confirmed = totals ? totals.received - totals.sent : 0n;
  const pending = mempool.scriptSums(script);
  const unconfirmed = pending.received - pending.sent;
  return {
    address,
    script: scriptView(script, params),
    confirmed: sat(confirmed),
    unconfirmed,
    total: sat(confirmed + BigInt(unconfirmed)),
    immature: totals ? reads.scripts.coinbaseValueFrom(totals.key, tip.height - COINBASE_MATURITY + 2) : 0,
    pendingReceived: pending.received,
    pendingSpent: pending.sent,
    received: sat(totals?.received ?? 0n),
    sent: sat(totals?.sent ?? 0n),
    txCount: totals?.txs ?? 0,
    mempoolTxCount: pending.txs,
    utxoCount: totals?.utxos ?? 0,
    firstSeenHeight: totals?.firstHeight ?? null,
    lastSeenHeight: totals?.lastHeight ?? null,
    tip: tipView(tip),
  };
}

/** Validation result of a text that may be an address. */
export const validateEndpoint = readEndpoint({
  name: 'validate-address',
  path: '/api/validate/:address',
  tag: 'addresses',
  summary: 'Whether an address is valid',
  params: { address: ADDRESS },
  response: json(ADDRESS_CHECK),
  input: ({ params }) => ({ text: params.address }),
  run({ params }, { text }) {
    const script = bareScript(text);
    const parsed = script ? null : parseAddress(text, params.address);
    if (parsed && !parsed.ok)
      return jsonAnswer({
        isValid: false,
        type: null,
        witnessVersion: null,
        script: null,
        reason: parsed.reason,
        errorLocations: parsed.errorLocations,
      });
    const view = scriptView(script ?? parsed!.script, params);
    return jsonAnswer({
      isValid: true,
      type: view.type,
      witnessVersion: parsed?.witnessVersion ?? null,
      script: view,
      reason: null,
      errorLocations: [],
    });
  },
});
