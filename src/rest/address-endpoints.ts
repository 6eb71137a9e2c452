import { COINBASE_MATURITY } from '../consensus/limits.ts';
import { sat } from '../http/sat.ts';
import { type Answer, jsonAnswer, type ReadEndpoint } from '../queries/answer.ts';
import { tipView } from '../queries/block-facts.ts';
import type { ReadEnv } from '../queries/read-env.ts';
import { bareScript, type ScriptInput } from '../queries/script-input.ts';
import { parseAddress } from '../script/address.ts';
import { scriptType } from '../script/templates.ts';
import { scriptView } from '../views/rest/script-view.ts';

export const balanceEndpoint: ReadEndpoint<ScriptInput> = {
  name: 'balance',
  run: (env, input) => jsonAnswer(balanceView(env, input)),
};

/** The balance, and what kind of address it is. */
export const addressEndpoint: ReadEndpoint<ScriptInput> = {
  name: 'address',
  run(env, input) {
    const { address, ...rest } = balanceView(env, input);
    return jsonAnswer({ address, isValid: true, type: scriptType(input.script).type, ...rest });
  },
};

function balanceView({ reads, tip, params, mempool }: ReadEnv, { address, script }: ScriptInput) {
  const totals = reads.scripts.totals(script);
  const confirmed = totals ? totals.received - totals.sent : 0n;
  const pending = mempool.sumsOf(script);
  const unconfirmed = pending.received - pending.sent;
  return {
    address,
    script: scriptView(script, params),
    confirmed: sat(confirmed),
    unconfirmed,
    total: sat(confirmed + BigInt(unconfirmed)),
    immature: totals ? reads.scripts.coinbaseValueFrom(totals.id, tip.height - COINBASE_MATURITY + 2) : 0,
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

/** What can be said of an address, also where it is none. */
export const validateEndpoint: ReadEndpoint<{ text: string }> = {
  name: 'validate',
  run({ params }, { text }): Answer {
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
};
