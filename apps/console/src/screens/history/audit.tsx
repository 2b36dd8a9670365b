import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import type { AuditView } from '#rollcall/client';
import { plain, words } from '../../parts/format.js';
import { Ago, Json, useTitle } from '../../parts/parts.js';
import { Empty, Loaded } from '../../parts/states.js';
import { useCaller } from '../../session/session.js';
import { HistoryTabs } from './history-tabs.js';

const PAGE = 50;
const FIELDS = [
  { name: 'action', label: 'Only this action', placeholder: 'action, such as agent.drained' },
  { name: 'actor', label: 'Only actions of this principal', placeholder: 'who, such as key:4fT9sKq2Lm' },
  { name: 'target', label: 'Only actions on this object', placeholder: 'object, such as builder-01' },
] as const;

/** Who did what, to which object, and with which request. */
export function Audit(): ReactNode {
  useTitle('Audit log');
  const { api } = useCaller();
  const { action, actor, target } = useSearch({ from: '/audit' });
  const filter = {
    ...(action !== undefined && { action }),
    ...(actor !== undefined && { actorId: actor }),
    ...(target !== undefined && { target }),
  };
  const list = useInfiniteQuery({
    queryKey: ['audit', filter],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }) =>
      await api.audit.list({ ...filter, limit: PAGE, ...(pageParam && { cursor: pageParam }) }, { signal }).page(),
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });
  const entries = useMemo(() => list.data?.pages.flatMap(({ items }) => items), [list.data]);
  return (
    <>
      <HistoryTabs />
      <section className="card">
        <Filters values={{ action, actor, target }} />
        <Loaded query={{ data: entries, error: list.error }}>
          {(all) =>
            all.length === 0 ? (
              <Empty>{Object.keys(filter).length > 0 ? 'No action matches.' : 'Nothing was changed yet.'}</Empty>
            ) : (
              <ul className="plain-list event-list audit-list">
                {all.map((entry) => (
                  <li key={entry.seq}>
                    <Entry entry={entry} />
                  </li>
                ))}
              </ul>
            )
          }
        </Loaded>
        {list.hasNextPage && (
          <div className="padded">
            <div className="buttons">
              <button
                className="button"
                type="button"
                disabled={list.isFetchingNextPage}
                onClick={() => void list.fetchNextPage()}
              >
                Show earlier actions
              </button>
            </div>
          </div>
        )}
      </section>
    </>
  );
}

function Entry({ entry }: { entry: AuditView }): ReactNode {
  const { at, action, target, actorId, actorName, details, requestId, ip, fingerprint } = entry;
  const { note } = details;
  return (
    <details>
      <summary>
        <Ago at={at} />
        <b>{actionText(action)}</b>
        <span className="muted event-subject">
          {target !== null && plain(target)}
          {typeof note === 'string' && note !== '' && ` — ${plain(note)}`}
        </span>
        <span className="muted actor" title={plain(actorId)}>
          {plain(actorName)}
        </span>
      </summary>
      <div className="event-facts">
        <Json value={{ action, target, actorId, actorName, details, requestId, ip, fingerprint, at }} />
      </div>
    </details>
  );
}

/** `budget.topped_up` is “Budget topped up”. */
function actionText(action: string): string {
  const text = words(action.replace('.', ' '));
  return plain(text.charAt(0).toUpperCase() + text.slice(1));
}

function Filters({ values }: { values: Record<'action' | 'actor' | 'target', string | undefined> }): ReactNode {
  const navigate = useNavigate({ from: '/audit' });
  return (
    <div className="chips audit-filters">
      {FIELDS.map(({ name, label, placeholder }) => (
        <input
          key={name}
          className="field"
          type="search"
          aria-label={label}
          placeholder={placeholder}
          defaultValue={values[name] ?? ''}
          onChange={({ target }) => {
            const value = target.value.trim();
            void navigate({
              search: ({ [name]: _before, ...rest }) => ({ ...rest, ...(value !== '' && { [name]: value }) }),
              replace: true,
            });
          }}
        />
      ))}
    </div>
  );
}
