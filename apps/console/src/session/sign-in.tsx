import { type ReactNode, useState } from 'react';
import { Problem } from '../parts/states.js';
import { session } from './session.js';

/** The page for somebody who is not signed in. */
export function SignIn({ reason }: { reason: string | undefined }): ReactNode {
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: { preventDefault(): void; readonly currentTarget: HTMLFormElement }): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget;
    const key = String(new FormData(form).get('key') ?? '').trim();
    setBusy(true);
    try {
      await session.signIn(key);
      form.reset();
    } catch (thrown) {
      setError(thrown);
    } finally {
      setBusy(false);
    }
  };
  return (
    <main className="sign-in">
      <form className="card" onSubmit={(event) => void submit(event)}>
        <div className="brand">
          <i aria-hidden="true">R</i>
          <h1>Rollcall</h1>
        </div>
        {reason !== undefined && <p role="status">{reason}</p>}
        <label>
          API key
          <input className="field mono" name="key" type="password" required autoComplete="off" spellCheck={false} />
        </label>
        <button className="button primary" type="submit" disabled={isBusy}>
          Sign in
        </button>
        <p className="muted">
          The key is exchanged for a session of 8 hours, which ends with this tab. The key itself is not kept.
        </p>
        {error !== undefined && <Problem error={error} />}
      </form>
    </main>
  );
}
