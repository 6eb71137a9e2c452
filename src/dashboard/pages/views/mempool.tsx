import { formatBytes, formatCount, formatFeeRate } from '../display-format.ts';
import { Age, AmountText, Card, Facts, HashLink, Show, Table, Title } from '../parts.tsx';
import type { Fees, MempoolInfo, RecentTx } from '../replies.ts';
import { useLoad, useShared } from '../state.ts';
import { ProjectedBlocks } from './projected-blocks.tsx';

/** The mempool by fee rate, the fee estimates and the newest transactions; live. */
export function MempoolPage() {
  const { mempoolVersion, chainVersion } = useShared();
  const version = `${mempoolVersion}.${chainVersion}`;
  const info = useLoad<MempoolInfo>('/api/mempool', version);
  const fees = useLoad<Fees>('/api/fees', version);
  const recent = useLoad<readonly RecentTx[]>('/api/mempool/recent', version);
  return (
    <>
      <Title>Mempool</Title>
      <Card title="Coming blocks by fee rate" wide>
        <ProjectedBlocks />
      </Card>
      <div class="cards">
        <Card title="State">
          <Show of={info}>
            {(pool) => (
              <Facts
                rows={[
                  ['Transactions', formatCount(pool.count)],
                  ['Virtual size', `${formatCount(pool.vsize)} vB`],
                  ['Memory', `${formatBytes(pool.usage)} of ${formatBytes(pool.maxUsage)}`],
                  ['Fees', <AmountText key="fees" of={pool.totalFee} />],
                  ['Least fee rate', `${formatFeeRate(pool.minFeeRate)} sat/vB`],
                  ['Saved mempool', pool.loaded ? 'loaded' : 'is loading'],
                ]}
              />
            )}
          </Show>
        </Card>
        <Card title="Fee rates, sat/vB">
          <Show of={fees}>
            {({ fastest, halfHour, hour, economy, minimum, estimator }) => (
              <Facts
                rows={[
                  ['Next block', formatFeeRate(fastest)],
                  ['Half an hour', formatFeeRate(halfHour)],
                  ['An hour', formatFeeRate(hour)],
                  ['A day', formatFeeRate(economy)],
                  ['Minimum', formatFeeRate(minimum)],
                  ['Estimated from', estimator.replaceAll('_', ' ')],
                ]}
              />
            )}
          </Show>
        </Card>
      </div>
      <Card title="Newest transactions" wide>
        <Show of={recent}>
          {(txs) =>
            txs.length === 0 ? (
              <p class="waiting">There is no unconfirmed transaction.</p>
            ) : (
              <Table caption="Newest transactions" head={['Transaction', 'Age', 'Amount', 'Fee', 'sat/vB']}>
                {txs.map(({ txid, time, valueOut, fee, feeRate }) => (
                  <tr key={txid}>
                    <td>
                      <HashLink page="tx" id={txid} />
                    </td>
                    <td>
                      <Age of={time} />
                    </td>
                    <td class="number">
                      <AmountText of={valueOut} />
                    </td>
                    <td class="number">
                      <AmountText of={fee} />
                    </td>
                    <td class="number">{formatFeeRate(feeRate)}</td>
                  </tr>
                ))}
              </Table>
            )
          }
        </Show>
      </Card>
    </>
  );
}
