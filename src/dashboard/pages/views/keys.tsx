import { Card, MoreButton, Show, Table, Time, Title, usePages } from '../parts.tsx';
import type { AuditReply, KeyInfo, Page } from '../replies.ts';
import { useLoad, useShared } from '../state.ts';

const ROWS = 50;
const AUDIT = `/api/audit?limit=${ROWS}`;

/** The API keys and the audit log, read only, in a session whose code was made with the scope admin. */
export function KeysPage() {
  const { session } = useShared();
  if (!session.scopes.includes('admin')) {
    return (
      <>
        <Title>Keys</Title>
        <p>
          This session does not have the scope admin. Run <code>obverse login --scopes read,admin</code> on the host for
          a code of one that does.
        </p>
      </>
    );
  }
  return (
    <>
      <Title>Keys and audit</Title>
      <p class="note">
        Keys are made and revoked by the command line alone: <code>obverse key</code>.
      </p>
      <Keys />
      <Audit />
    </>
  );
}

function Keys() {
  const keys = useLoad<{ readonly items: readonly KeyInfo[] }>('/api/keys');
  return (
    <Card title="API keys" wide>
      <Show of={keys}>
        {({ items }) =>
          items.length === 0 ? (
            <p class="waiting">No key was made.</p>
          ) : (
            <Table caption="API keys" head={['Id', 'Label', 'Scopes', 'Made', 'Last used', 'State']}>
              {items.map((key) => (
                <tr key={key.id}>
                  <td>
                    <code>{key.id}</code>
                  </td>
                  <td>{key.label}</td>
                  <td class="wrap">{key.scopes.join(', ')}</td>
                  <td>
                    <Time at={key.createdAt} />
                  </td>
                  <td>{key.lastUsedAt === null ? 'never' : <Time at={key.lastUsedAt} />}</td>
                  <td>{stateOf(key)}</td>
                </tr>
              ))}
            </Table>
          )
        }
      </Show>
    </Card>
  );
}

function stateOf({ revokedAt, expiresAt }: KeyInfo) {
  if (revokedAt !== null)
    return (
      <>
        revoked <Time at={revokedAt} />
      </>
    );
  if (expiresAt === null) return 'valid';
  return (
    <>
      valid until <Time at={expiresAt} />
    </>
  );
}

function Audit() {
  const first = useLoad<Page<AuditReply>>(AUDIT);
  const listing = usePages(AUDIT, first.value);
  return (
    <Card title="Audit log" wide>
      <Show of={first}>
        {() => (
          <>
            <Table caption="Audit log" head={['Time', 'Key', 'Address', 'Method', 'Wallet', 'Outcome']}>
              {listing.items.map((row) => (
                <tr key={row.id}>
                  <td>
                    <Time at={row.time} />
                  </td>
                  <td>
                    <code>{row.who}</code>
                  </td>
                  <td>{row.ip}</td>
                  <td>{row.method}</td>
                  <td>{row.wallet ?? '–'}</td>
                  <td>{row.outcome}</td>
                </tr>
              ))}
            </Table>
            <MoreButton of={listing} />
          </>
        )}
      </Show>
    </Card>
  );
}
