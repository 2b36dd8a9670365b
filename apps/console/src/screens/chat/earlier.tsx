import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { count, plain } from '../../parts/format.js';
import { Ago } from '../../parts/parts.js';
import { Empty, Loaded } from '../../parts/states.js';
import { useCaller } from '../../session/session.js';

const SHOWN = 15;

interface EarlierProps {
  current: string | undefined;
  onNew: () => void;
}

/** The conversations of the caller. */
export function Earlier({ current, onNew }: EarlierProps): ReactNode {
  const { api, me } = useCaller();
  const query = useQuery({
    queryKey: ['runs', 'conversations'],
    queryFn: async ({ signal }) =>
      (await api.conversations.list({ limit: SHOWN }, { signal }).page()).items.filter(
        ({ createdBy }) => createdBy === me.id,
      ),
  });
  return (
    <section className="card">
      <header>
        <h2>Your conversations</h2>
        <span className="space" />
        <button className="button" type="button" onClick={onNew}>
          New
        </button>
      </header>
      <Loaded query={query}>
        {(items) =>
          items.length === 0 ? (
            <Empty>
              There is none yet. <code>rollcall run … --conversation chat-1</code> begins one, too.
            </Empty>
          ) : (
            <div className="scroll" tabIndex={0} role="region" aria-label="Your conversations">
              <table>
                <thead className="visually-hidden">
                  <tr>
                    <th scope="col">With</th>
                    <th scope="col">Runs</th>
                    <th scope="col">Age</th>
                  </tr>
                </thead>
                <tbody>
                  {items.map(({ id, agentId, runs, openRuns, lastRunAt }) => (
                    <tr key={id} className={id === current ? 'selected' : ''}>
                      <td title={plain(id)}>
                        <Link to="/try" search={{ conversation: id }}>
                          {plain(agentId)}
                        </Link>
                      </td>
                      <td className="muted">
                        {count(runs)} {runs === 1 ? 'message' : 'messages'}
                        {openRuns > 0 && `, ${count(openRuns)} open`}
                      </td>
                      <td className="number">
                        <Ago at={lastRunAt} />
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Loaded>
    </section>
  );
}
