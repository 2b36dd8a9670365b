import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useCaller } from '../../session/session.js';

/** What happened, and who did it. */
export function HistoryTabs(): ReactNode {
  const { may } = useCaller();
  if (!may('audit:read')) return null;
  return (
    <nav className="tabs" aria-label="History">
      <Link to="/history" activeOptions={{ includeSearch: false }} search={({ ns }) => ({ ...(ns && { ns }) })}>
        Events
      </Link>
      <Link to="/audit" activeOptions={{ includeSearch: false }} search={({ ns }) => ({ ...(ns && { ns }) })}>
        Audit log
      </Link>
    </nav>
  );
}
