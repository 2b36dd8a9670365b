import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo, useState } from 'react';
import { count, plain } from '../../parts/format.js';
import { Ago, Tag } from '../../parts/parts.js';
import { Empty, Loaded, Problem } from '../../parts/states.js';
import { useCaller } from '../../session/session.js';
import { Changes } from './changes.js';
import { ORIGINS } from './definition-words.js';

const PAGE = 20;

interface RevisionsProps {
  name: string;
  current: number;
  /** Loads a revision into the editor. Absent: the definition is read-only. */
  onRestore: ((revision: number) => Promise<void>) | undefined;
}

export function Revisions({ name, current, onRestore }: RevisionsProps): ReactNode {
  const { api } = useCaller();
  const [error, setError] = useState<unknown>();
  const list = useInfiniteQuery({
    queryKey: ['definition', name, 'revisions'],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }) =>
      await api.definitions
        .listRevisions(name, { limit: PAGE, ...(pageParam && { cursor: pageParam }) }, { signal })
        .page(),
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });
  const rows = useMemo(() => list.data?.pages.flatMap(({ items }) => items), [list.data]);
  const restore = async (revision: number): Promise<void> => {
    setError(undefined);
    try {
      await onRestore?.(revision);
      document.documentElement.scrollTop = 0;
    } catch (thrown) {
      setError(thrown);
    }
  };
  return (
    <section className="card">
      <h2>Revisions</h2>
      {error !== undefined && <Problem error={error} />}
      <Loaded query={{ data: rows, error: list.error }}>
        {(revisions) => (
          <div className="scroll" tabIndex={0} role="region" aria-label="Revisions">
            <table>
              <thead>
                <tr>
                  <th scope="col">Revision</th>
                  <th scope="col" className="secondary">
                    Description
                  </th>
                  <th scope="col" className="secondary">
                    Origin
                  </th>
                  <th scope="col" className="secondary">
                    Changed by
                  </th>
                  <th scope="col" className="number">
                    Age
                  </th>
                  <th scope="col">
                    <span className="visually-hidden">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {revisions.map(({ revision, source, description, createdAt, createdBy }) => (
                  <tr key={revision}>
                    <td>
                      {count(revision)} {revision === current && <Tag tone="good">current</Tag>}
                    </td>
                    <td className="secondary muted">{plain(description)}</td>
                    <td className="secondary">{ORIGINS[source].word}</td>
                    <td className="secondary muted">{plain(createdBy)}</td>
                    <td className="number">
                      <Ago at={createdAt} />
                    </td>
                    <td>
                      <span className="buttons row-actions">
                        {revision > 1 && (
                          <Link
                            to="/definitions/$name"
                            params={{ name }}
                            search={(before) => ({ ...before, from: revision - 1, to: revision })}
                            className="button"
                            resetScroll={false}
                          >
                            Compare<span className="visually-hidden"> revision {revision} with the one before</span>
                          </Link>
                        )}
                        {onRestore && revision !== current && (
                          <button className="button" type="button" onClick={() => void restore(revision)}>
                            Restore<span className="visually-hidden"> revision {revision}</span>
                          </button>
                        )}
                      </span>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
      </Loaded>
      {list.hasNextPage && (
        <div className="padded">
          <div className="buttons">
            <button className="button" type="button" onClick={() => void list.fetchNextPage()}>
              Show older revisions
            </button>
          </div>
        </div>
      )}
    </section>
  );
}

export function RevisionDiff({ name, from, to }: { name: string; from: number; to: number }): ReactNode {
  const { api } = useCaller();
  const query = useQuery({
    queryKey: ['definition', name, 'diff', from, to],
    queryFn: async ({ signal }) => (await api.definitions.diff(name, { from, to }, { signal })).changes,
  });
  return (
    <section className="card">
      <header>
        <h2>
          Revision {from} → {to}
        </h2>
        <Link
          to="/definitions/$name"
          params={{ name }}
          search={({ from: _from, to: _to, ...rest }) => rest}
          className="action-link"
          resetScroll={false}
        >
          close
        </Link>
      </header>
      <Loaded query={query}>
        {(changes) =>
          changes.length === 0 ? <Empty>The two revisions are the same.</Empty> : <Changes changes={changes} />
        }
      </Loaded>
    </section>
  );
}
