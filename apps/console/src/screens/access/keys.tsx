import { useInfiniteQuery } from '@tanstack/react-query';
import { type ReactNode, useId, useMemo, useState } from 'react';
import type { IssuedKeyView, KeyView } from '#rollcall/client';
import { Action } from '../../parts/action.js';
import { count, moment, plain } from '../../parts/format.js';
import { Ago, Tag, type Tone } from '../../parts/parts.js';
import { Loaded } from '../../parts/states.js';
import { useCaller } from '../../session/session.js';
import { Secret } from './secret.js';

const PAGE = 50;
const DAY_MS = 86_400_000;
const ROLES = ['admin', 'operator', 'agent', 'caller', 'viewer'] as const;
type Role = (typeof ROLES)[number];

const TONES: Record<KeyView['status'], Tone> = { active: 'good', expired: 'off', revoked: 'bad' };

/** The API keys, without their secrets. */
export function Keys(): ReactNode {
  const { api } = useCaller();
  const [issued, setIssued] = useState<IssuedKeyView>();
  const list = useInfiniteQuery({
    queryKey: ['keys'],
    initialPageParam: undefined as string | undefined,
    queryFn: async ({ pageParam, signal }) =>
      await api.keys.list({ limit: PAGE, ...(pageParam && { cursor: pageParam }) }, { signal }).page(),
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  });
  const keys = useMemo(() => list.data?.pages.flatMap(({ items }) => items), [list.data]);
  return (
    <section className="card">
      <header>
        <h2>API keys</h2>
        <small>{keys ? `${count(keys.length)}${list.hasNextPage ? '+' : ''}` : ''}</small>
        <span className="space" />
        <IssueKey onIssued={setIssued} />
      </header>
      {issued && (
        <Secret title={`The key ${plain(issued.name)}.`} secret={issued.key} onDone={() => setIssued(undefined)} />
      )}
      <Loaded query={{ data: keys, error: list.error }}>
        {(all) => (
          <div className="scroll access-rows" tabIndex={0} role="region" aria-label="API keys">
            <table>
              <thead>
                <tr>
                  <th scope="col">Name</th>
                  <th scope="col">State</th>
                  <th scope="col" className="secondary">
                    Roles
                  </th>
                  <th scope="col" className="secondary">
                    Namespace
                  </th>
                  <th scope="col" className="number secondary">
                    Last used
                  </th>
                  <th scope="col" className="number secondary">
                    Expires
                  </th>
                  <th scope="col">
                    <span className="visually-hidden">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {all.map((key) => (
                  <KeyRow key={key.id} apiKey={key} onIssued={setIssued} />
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
              Show older keys
            </button>
          </div>
        </div>
      )}
    </section>
  );
}

function KeyRow({ apiKey, onIssued }: { apiKey: KeyView; onIssued: (key: IssuedKeyView) => void }): ReactNode {
  const { id, name, status, roles, namespace, lastUsedAt, expiresAt, replacedBy, createdAt, createdBy } = apiKey;
  return (
    <tr>
      <td title={`${plain(id)}, issued ${moment(createdAt)} by ${plain(createdBy)}`}>
        <b>{plain(name)}</b>
        <small className="mono secondary">{plain(id)}</small>
      </td>
      <td>
        <Tag tone={TONES[status]}>{status}</Tag>
        {replacedBy !== null && <small className="secondary">replaced</small>}
      </td>
      <td className="secondary">{roles.join(', ')}</td>
      <td className="secondary">{namespace === '*' ? 'all' : plain(namespace)}</td>
      <td className="number secondary">
        <Ago at={lastUsedAt} />
      </td>
      <td className="number secondary muted">{expiresAt === null ? 'never' : moment(expiresAt)}</td>
      <td>
        <span className="buttons row-actions">
          {status === 'active' && replacedBy === null && <RotateKey apiKey={apiKey} onIssued={onIssued} />}
          {status === 'active' && <RevokeKey apiKey={apiKey} />}
        </span>
      </td>
    </tr>
  );
}

interface IssuedProps {
  onIssued: (key: IssuedKeyView) => void;
}

function IssueKey({ onIssued }: IssuedProps): ReactNode {
  const { api, me } = useCaller();
  const [nameId, expiryId] = [useId(), useId()];
  const [name, setName] = useState('');
  const [roles, setRoles] = useState<readonly Role[]>(['viewer']);
  const [days, setDays] = useState(90);
  const isEverywhere = me.namespaces.includes('*');
  const [isForAll, setForAll] = useState(false);
  const body = {
    name,
    roles: [...roles],
    ...(isForAll && { namespace: '*' }),
    ...(days > 0 && { expiresAt: new Date(Math.ceil(Date.now() / DAY_MS + days) * DAY_MS).toISOString() }),
  };
  return (
    <Action
      label="Issue a key…"
      tone="primary"
      title="Issue an API key"
      verb="Issue the key"
      hasNote={false}
      request={() => ({ method: 'POST', path: '/v1/keys', body })}
      run={async (_note, idempotencyKey) => onIssued(await api.keys.issue(body, { idempotencyKey }))}
    >
      <p>Its secret is shown once. “Revoke” undoes it.</p>
      <label htmlFor={nameId}>
        What it is for
        <input
          id={nameId}
          className="field"
          value={name}
          maxLength={100}
          placeholder="ci-deployer"
          autoComplete="off"
          onChange={({ target }) => setName(target.value)}
        />
      </label>
      <fieldset className="checks">
        <legend>Roles</legend>
        {ROLES.map((role) => (
          <label key={role}>
            <input
              type="checkbox"
              checked={roles.includes(role)}
              onChange={() => setRoles(ROLES.filter((one) => (one === role) !== roles.includes(one)))}
            />
            {role}
          </label>
        ))}
      </fieldset>
      {isEverywhere && (
        <fieldset className="checks">
          <legend>Namespaces</legend>
          <label>
            <input type="checkbox" checked={isForAll} onChange={() => setForAll(!isForAll)} />
            all namespaces
          </label>
        </fieldset>
      )}
      <label htmlFor={expiryId}>
        Expires
        <select id={expiryId} className="field" value={days} onChange={({ target }) => setDays(Number(target.value))}>
          <option value={30}>in 30 days</option>
          <option value={90}>in 90 days</option>
          <option value={365}>in a year</option>
          <option value={0}>never</option>
        </select>
      </label>
    </Action>
  );
}

const OVERLAP_SECONDS = 3_600;

function RotateKey({ apiKey: { id, name }, onIssued }: IssuedProps & { apiKey: KeyView }): ReactNode {
  const { api } = useCaller();
  const body = { overlapSeconds: OVERLAP_SECONDS };
  return (
    <Action
      label="Rotate…"
      title={`Rotate the key ${plain(name)}?`}
      verb="Rotate"
      hasNote={false}
      request={() => ({ method: 'POST', path: `/v1/keys/${id}/rotate`, body })}
      run={async (_note, idempotencyKey) => onIssued(await api.keys.rotate(id, body, { idempotencyKey }))}
    >
      <p>
        A new secret with the same rights is issued and shown once. The old one stays valid for one hour, so that its
        users can change it. What the key owns stays its own.
      </p>
    </Action>
  );
}

function RevokeKey({ apiKey: { id, name } }: { apiKey: KeyView }): ReactNode {
  const { api, me } = useCaller();
  return (
    <Action
      label="Revoke…"
      tone="danger"
      title={`Revoke the key ${plain(name)}?`}
      verb="Revoke"
      hasNote={false}
      request={() => ({ method: 'DELETE', path: `/v1/keys/${id}` })}
      run={async (_note, idempotencyKey) => await api.keys.revoke(id, { idempotencyKey })}
    >
      <p>
        Requests with this key, and the sessions that it opened, end within two seconds. This cannot be undone.
        {me.id === `key:${id}` && ' You are signed in with this key, so this page signs out.'}
      </p>
    </Action>
  );
}
