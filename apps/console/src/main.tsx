import { CSPProvider } from '@base-ui/react/csp-provider';
import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { RollcallError } from '#rollcall/client';
import { router } from './router.js';
import { isSignedOut, session } from './session/session.js';
import { restoreTheme } from './shell/theme.js';
import './console.css';

const queries = new QueryClient({
  queryCache: new QueryCache({
    onError: (error) => {
      if (isSignedOut(error) && session.get().token !== undefined)
        session.end('Your session has ended: it expired, or its API key was revoked. Sign in again.');
    },
  }),
  // the client repeats what is safe to repeat
  defaultOptions: { queries: { retry: false, staleTime: 5_000, refetchOnWindowFocus: true } },
});

/** A sign-in link has its ticket in the fragment, which browsers do not send to a server. */
async function redeemTicket(): Promise<void> {
  const ticket = /^#ticket=([\w-]+)$/.exec(location.hash)?.[1];
  if (ticket === undefined) return;
  history.replaceState(null, '', '#/');
  try {
    await session.exchange(ticket);
  } catch (error) {
    session.end(error instanceof RollcallError ? error.message : 'The sign-in link could not be used.');
  }
}

const root = document.getElementById('root');
if (!root) throw new Error('the page has no root');
restoreTheme();
await redeemTicket();
// a change of the session must not show what another caller has read
session.subscribe(() => queries.clear());
createRoot(root).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
);
