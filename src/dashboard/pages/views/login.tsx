import { useState } from 'preact/hooks';
import { logIn, type Session } from '../api.ts';
import { Title } from '../parts.tsx';

/** The form that starts a session with a one-time code. */
export function LoginPage({ onLogin }: { onLogin: (session: Session) => void }) {
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    const code = new FormData(event.currentTarget as HTMLFormElement).get('code');
    setBusy(true);
    try {
      onLogin(await logIn(String(code ?? '')));
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  };
  return (
    <main id="content" class="login" tabIndex={-1}>
      <form onSubmit={(event) => void submit(event)}>
        <Title>Log in to this node</Title>
        <p id="code-help">
          Run <code>obverse login</code> on the host of the node and enter the code that it prints. A code is valid
          once, for ten minutes.
        </p>
        <label for="code">One-time code</label>
        <input
          id="code"
          name="code"
          type="text"
          required
          autocomplete="one-time-code"
          autocapitalize="characters"
          spellcheck={false}
          aria-describedby="code-help"
          placeholder="XXXX-XXXX-XXXX-XXXX"
        />
        {problem && (
          <p class="failure" role="alert">
            {problem}
          </p>
        )}
        <button type="submit" disabled={busy}>
          Log in
        </button>
      </form>
    </main>
  );
}
