import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { LiveProvider } from '../live/live.js';
import { Problem } from '../parts/states.js';
import {
  type Caller,
  CallerProvider,
  clientWith,
  isSignedOut,
  type Permission,
  useSession,
} from '../session/session.js';
import { SignIn } from '../session/sign-in.js';
import { Shell } from './shell.js';

/** The WebSocket of a caller ends with its session. Others are asked often, so that the page of a revoked key signs out within two seconds. */
const [ASK_MS, ASK_WITHOUT_EVENTS_MS] = [60_000, 1_000];

/**
 * Asks the server who the caller is, also without a session: a proxy in front may add a credential. What the caller may not do is not
 * offered.
 */
export function Root(): ReactNode {
  const { token, ended } = useSession();
  const { ns } = useSearch({ from: '__root__' });
  const api = useMemo(() => clientWith(token, ns), [token, ns]);
  const { data: me, error } = useQuery({
    queryKey: ['me', token !== undefined, ns],
    queryFn: async ({ signal }) => await api.me.get({ signal }),
    refetchInterval: ({ state: { data } }) =>
      data?.permissions.includes('events:read') ? ASK_MS : ASK_WITHOUT_EVENTS_MS,
  });
  const caller = useMemo<Caller | undefined>(
    () =>
      me && { api, me, namespace: me.namespace, may: (permission: Permission) => me.permissions.includes(permission) },
    [api, me],
  );
  if (error && isSignedOut(error)) return <SignIn reason={ended} />;
  if (error && !caller)
    return (
      <main className="sign-in">
        <div className="card">
          <h1 className="notice">The server does not say who you are.</h1>
          <Problem error={error} />
        </div>
      </main>
    );
  if (!caller) return null;
  return (
    <CallerProvider caller={caller}>
      <LiveProvider key={caller.namespace}>
        <Shell />
      </LiveProvider>
    </CallerProvider>
  );
}
