import { retargetInterval } from '../consensus/consensus-params.ts';
import { nextWorkRequired, retarget } from '../consensus/difficulty.ts';
import { difficultyOf } from '../consensus/work.ts';
import { double } from '../http/core-number.ts';
import { json, plainText } from '../http/route-description.ts';
import { formatCoins } from '../primitives/amount.ts';
import { type Answer, jsonAnswer, textAnswer } from '../queries/answer.ts';
import { headerBits, headerTime, tipView, workFields } from '../queries/block-facts.ts';
import { type Supply, supplyAt } from '../queries/listing.ts';
import { StoredEntry } from '../queries/stored-entry.ts';
import { readEndpoint } from './endpoint.ts';
import { DIFFICULTY, SUPPLY } from './schemas/chain-schemas.ts';

/** Returns an endpoint that answers with one number of coins, for services that read nothing else. */
const supplyEndpoint = (kind: keyof Supply | 'total', summary: string) =>
  readEndpoint({
    name: `supply-${kind}`,
    path: `/api/supply/${kind}`,
    tag: 'chain',
    summary,
    access: 'public',
    response: plainText(SUPPLY),
    input: () => null,
    run(env): Answer {
      const supply = supplyAt(env);
      return textAnswer(formatCoins(kind === 'total' ? supply.circulating : supply[kind]), 'tip');
    },
  });

export const circulatingEndpoint = supplyEndpoint('circulating', 'Supply: coins in the UTXO set');
export const issuedEndpoint = supplyEndpoint('issued', 'Supply: coins issued by the schedule');
export const totalEndpoint = supplyEndpoint('total', 'Supply: same as circulating');
export const maxEndpoint = supplyEndpoint('max', 'Supply: maximum number of coins');

const HISTORY_PERIODS = 12;

/** The current difficulty, the next one at the pace of this period, and the previous one. */
export const difficultyEndpoint = readEndpoint({
  name: 'difficulty',
  path: '/api/difficulty',
  tag: 'chain',
  summary: 'Difficulty now, next and before',
  response: json(DIFFICULTY),
  input: () => null,
  run({ reads, tip, params }) {
    const { consensus } = params;
    const interval = retargetInterval(consensus);
    const entry = new StoredEntry(reads, tip);
    const nextHeight = (Math.floor(tip.height / interval) + 1) * interval;
    const blocksToRetarget = nextHeight - tip.height;
    const first = entry.ancestor(nextHeight - interval)!;
    const done = tip.height - first.height;
    const pace = done > 0 ? Math.max(1, (tipTime() - first.time) / done) : consensus.powTargetSpacing;
    // Assumes that the rest of the period continues at its average pace.
    const projected = { bits: entry.bits, time: Math.round(first.time + pace * (interval - 1)) };
    const estimate = difficultyOf(
      consensus.noRetargeting
        ? nextWorkRequired(entry, tipTime() + 1, consensus)
        : retarget(projected, first, consensus),
    );
    const current = difficultyOf(entry.bits);
    const heights: number[] = [];
    for (let at: number = first.height; at >= 0 && heights.length < HISTORY_PERIODS; at -= interval) heights.push(at);
    reads.expectRows({ heights });
    const history = [];
    for (const at of heights) {
      const block = reads.headers.byHeight(at)!;
      history.unshift({ height: at, time: headerTime(block), difficulty: workFields(headerBits(block)).difficulty });
    }
    return jsonAnswer({
      height: tip.height,
      ...workFields(entry.bits),
      next: {
        height: nextHeight,
        difficulty: double(estimate),
        change: estimate / current - 1,
        time: Math.round(tipTime() + blocksToRetarget * pace),
      },
      blocksToRetarget,
      history,
      tip: tipView(tip),
    });

    function tipTime() {
      return headerTime(tip);
    }
  },
});
