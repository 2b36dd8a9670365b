import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useId, useMemo, useState } from 'react';
import type { NamespacePage } from '#rollcall/client';
import { Action } from '../../parts/action.js';
import { count, plain } from '../../parts/format.js';
import { Ago } from '../../parts/parts.js';
import { Loaded } from '../../parts/states.js';
import { useCaller } from '../../session/session.js';

type Namespace = NamespacePage['items'][number];
type LimitName = keyof Namespace['limits'];

const PAGE = 100;
const LIMITS: readonly [name: LimitName, label: string][] = [
  ['agents', 'Live agents'],
  ['keys', 'Active keys'],
  ['webhooks', 'Webhooks'],
  ['requestsPerSecond', 'Requests per second'],
  ['eventsKept', 'Events in the log'],
];

/** All namespaces of the installation, with their limits. */
export function Namespaces(): ReactNode {
  const { api, may } = useCaller();
  const list = useInfiniteQuery({
    queryKey: ['namespaces', 'list'],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }) =>
      await api.namespaces.list({ limit: PAGE, ...(pageParam && { cursor: pageParam }) }, { signal }).page(),
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });
  const rows = useMemo(() => list.data?.pages.flatMap(({ items }) => items), [list.data]);
  const mayManage = may('namespaces:manage');
  return (
    <section className="card">
      <header>
        <h2>Namespaces</h2>
        <small>{rows ? `${count(rows.length)}${list.hasNextPage ? '+' : ''}` : ''}</small>
        <span className="space" />
        {mayManage && <CreateNamespace />}
      </header>
      <Loaded query={{ data: rows, error: list.error }}>
        {(all) => (
          <div className="scroll access-rows" tabIndex={0} role="region" aria-label="Namespaces">
            <table>
              <thead>
                <tr>
                  <th scope="col">Name</th>
                  {LIMITS.map(([name, label]) => (
                    <th scope="col" className="number secondary" key={name}>
                      {label}
                    </th>
                  ))}
                  <th scope="col" className="number">
                    Age
                  </th>
                  {mayManage && (
                    <th scope="col">
                      <span className="visually-hidden">Actions</span>
                    </th>
                  )}
                </tr>
              </thead>
              <tbody>
                {all.map((namespace) => (
                  <tr key={namespace.name}>
                    <td title={namespace.description === null ? '' : plain(namespace.description)}>
                      <Link to="/access" search={{ ns: namespace.name }}>
                        {plain(namespace.name)}
                      </Link>
                      {namespace.description !== null && (
                        <small className="secondary">{plain(namespace.description.slice(0, 80))}</small>
                      )}
                    </td>
                    {LIMITS.map(([name]) => (
                      <td className="number secondary" key={name}>
                        {namespace.limits[name] === 0 ? (
                          <span className="muted">no limit</span>
                        ) : (
                          count(namespace.limits[name])
                        )}
                      </td>
                    ))}
                    <td className="number">
                      <Ago at={namespace.createdAt} />
                    </td>
                    {mayManage && (
                      <td>
                        <span className="buttons row-actions">
                          <ChangeLimits namespace={namespace} />
                          {namespace.name !== 'default' && <DeleteNamespace name={namespace.name} />}
                        </span>
                      </td>
                    )}
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
              Show more namespaces
            </button>
          </div>
        </div>
      )}
    </section>
  );
}

function CreateNamespace(): ReactNode {
  const { api } = useCaller();
  const [nameId, purposeId] = [useId(), useId()];
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const body = { name, ...(description !== '' && { description }) };
  return (
    <Action
      label="Create a namespace…"
      title="Create a namespace"
      verb="Create"
      hasNote={false}
      request={() => ({ method: 'POST', path: '/v1/namespaces', body })}
      run={async (_note, idempotencyKey) => await api.namespaces.create(body, { idempotencyKey })}
    >
      <p>
        Agents, budgets, runs and keys of a namespace are separate from those of others. An empty one can be deleted.
      </p>
      <label htmlFor={nameId}>
        Name: lower-case letters, digits and hyphens
        <input
          id={nameId}
          className="field mono"
          value={name}
          maxLength={63}
          autoComplete="off"
          onChange={({ target }) => setName(target.value.trim())}
        />
      </label>
      <label htmlFor={purposeId}>
        What it is for
        <input
          id={purposeId}
          className="field"
          value={description}
          maxLength={200}
          onChange={({ target }) => setDescription(target.value)}
        />
      </label>
    </Action>
  );
}

function ChangeLimits({ namespace: { name, limits: current } }: { namespace: Namespace }): ReactNode {
  const { api } = useCaller();
  const [limits, setLimits] = useState(current);
  const body = { limits };
  return (
    <Action
      label="Limits…"
      title={`Change the limits of ${plain(name)}`}
      verb="Change the limits"
      hasNote={false}
      request={() => ({ method: 'PATCH', path: `/v1/namespaces/${name}`, body })}
      run={async (_note, idempotencyKey) => await api.namespaces.update(name, body, { idempotencyKey })}
    >
      <p>0 means no limit. What exists already stays; what is above a limit is rejected from now on.</p>
      {LIMITS.map(([limit, label]) => (
        <label key={limit}>
          {label}
          <input
            className="field"
            type="number"
            min={0}
            value={limits[limit]}
            onChange={({ target }) => setLimits({ ...limits, [limit]: Math.max(0, Math.trunc(Number(target.value))) })}
          />
        </label>
      ))}
    </Action>
  );
}

function DeleteNamespace({ name }: { name: string }): ReactNode {
  const { api } = useCaller();
  return (
    <Action
      label="Delete…"
      tone="danger"
      title={`Delete the namespace ${plain(name)}?`}
      verb="Delete the namespace"
      hasNote={false}
      request={() => ({ method: 'DELETE', path: `/v1/namespaces/${name}` })}
      run={async (_note, idempotencyKey) => await api.namespaces.delete(name, { idempotencyKey })}
    >
      <p>It must be empty. Its name cannot be used again. This cannot be undone.</p>
    </Action>
  );
}
