import type { CallTable, ScenarioCalls } from '../port/node-calls.ts';
import type { Refusal } from '../port/refusal.ts';
import { sandboxAccounts } from './accounts.ts';
import { ScenarioRefused, type Scenarios } from './scenarios.ts';

const NO_SANDBOX: Refusal = { refused: 'misc', message: 'this call requires developer mode (obverse start --dev)' };

/** Returns the calls of developer mode, which run one at a time. `scenarios` is null where there is no sandbox. */
export function scenarioCalls(scenarios: Scenarios | null): CallTable<ScenarioCalls> {
  let last: Promise<unknown> = Promise.resolve();
  const play = <T>(scenario: (of: Scenarios) => Promise<T>): Promise<T | Refusal> | Refusal => {
    if (scenarios === null) return NO_SANDBOX;
    const played = last.then(async (): Promise<T | Refusal> => {
      try {
        return await scenario(scenarios);
      } catch (error) {
        if (error instanceof ScenarioRefused) return { refused: 'misc', message: error.message };
        throw error;
      }
    });
    last = played.catch(() => {});
    return played;
  };
  const own = () => sandboxAccounts().accounts[0]!.scriptPubKey;
  return {
    scenarioPay: (script, amount) => play((of) => of.pay(script, amount)),
    scenarioReorg: (depth, reconfirm) => play((of) => of.reorg(depth, { reconfirm })),
    scenarioDoubleSpend: (script, amount, depth) => play((of) => of.doubleSpend(script ?? own(), amount, depth)),
    scenarioFlood: (count, script) => play((of) => of.flood(count, script ?? own())),
  };
}
