import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { AgentView, BudgetView, PendingCallView, RunSummary } from '#rollcall/client';
import { Action } from '../parts/action.js';
import { count, money, plain } from '../parts/format.js';
import { Ago, Json, Tag, type Tone } from '../parts/parts.js';
import { Empty, Problem } from '../parts/states.js';
import { useCaller } from '../session/session.js';

const SHOWN = 10;

interface Need {
  readonly key: string;
  readonly kind: string;
  readonly tone: Tone;
  readonly text: ReactNode;
  readonly at: string | null;
  readonly action?: ReactNode;
}

/** Budgets of namespaces, callers and the fleet. Agents with a low budget are counted in the summary. */
export function useLowBudgets(): { budgets: BudgetView[]; error: unknown } {
  const { api } = useCaller();
  const { data, error } = useQuery({
    queryKey: ['budgets', 'shared'],
    queryFn: async ({ signal }) => {
      const kinds = ['fleet', 'namespace', 'caller'] as const;
      const pages = await Promise.all(
        kinds.map(async (kind) => await api.budgets.list({ kind, limit: 200 }, { signal }).page()),
      );
      return pages.flatMap(({ items }) => items);
    },
  });
  return { budgets: data ?? [], error };
}

/** What waits for a person, each in a sentence with the one action that settles it. */
export function NeedsYou(): ReactNode {
  const { api, may } = useCaller();
  const runs = useQuery({
    queryKey: ['runs', 'waiting'],
    enabled: may('runs:read'),
    queryFn: async ({ signal }) => (await api.runs.list({ state: ['waiting'], limit: SHOWN }, { signal }).page()).items,
  });
  const circuits = useQuery({
    queryKey: ['agents', 'open-circuits'],
    queryFn: async ({ signal }) => (await api.agents.list({ circuit: 'open', limit: SHOWN }, { signal }).page()).items,
  });
  const suspects = useQuery({
    queryKey: ['agents', 'suspects'],
    queryFn: async ({ signal }) =>
      (await api.agents.list({ status: 'suspect', limit: SHOWN }, { signal }).page()).items,
  });
  const protection = useProtection();
  const { budgets, error } = useLowBudgets();
  const needs: Need[] = [
    ...(runs.data ?? []).map(ofRun),
    ...protection,
    ...budgets.filter(({ condition }) => condition !== 'ample').map((budget) => ofBudget(budget, may('budgets:write'))),
    ...(circuits.data ?? []).map((agent) => ofCircuit(agent, may('agents:query'))),
    ...(suspects.data ?? []).map(ofSuspect),
  ];
  const failure = [runs.error, circuits.error, suspects.error, error].find((one) => one !== null);
  const isComplete = [runs, circuits, suspects].every(
    ({ data, fetchStatus }) => data !== undefined || fetchStatus === 'idle',
  );
  return (
    <section className="card" aria-labelledby="needs-you">
      <header>
        <h2 id="needs-you">Needs you</h2>
        <small>{needs.length > 0 ? count(needs.length) : ''}</small>
      </header>
      {failure ? <Problem error={failure} /> : null}
      {needs.length === 0 && isComplete && !failure && (
        <Empty>Nothing waits for a person: no approval, no exhausted budget, no open circuit, no suspect agent.</Empty>
      )}
      <ul className="plain-list">
        {needs.map(({ key, kind, tone, text, at, action }) => (
          <li className="need" key={key}>
            <Tag tone={tone}>{kind}</Tag>
            <p>{text}</p>
            {at === null ? <span /> : <Ago at={at} />}
            <span className="buttons">{action}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const QUESTIONS: Record<NonNullable<RunSummary['waitingFor']>, string> = {
  approval: 'waits for a decision about a call',
  needs_review: 'waits for a decision: a crash interrupted a call, and it is unknown whether it took effect',
  input: 'waits for an answer',
  authorization: 'waits for an authorization outside of this run',
};

function ofRun(run: RunSummary): Need {
  const kind = run.waitingFor === 'input' ? 'answer' : run.waitingFor === 'needs_review' ? 'review' : 'approve';
  const isDecision = run.waitingFor === 'approval' || run.waitingFor === 'needs_review';
  return {
    key: `run ${run.id}`,
    kind,
    tone: 'warn',
    text: (
      <>
        A{' '}
        <Link to="/runs/$runId" params={{ runId: run.id }} className="text-link">
          run of <b>{plain(run.agentId)}</b>
        </Link>{' '}
        {QUESTIONS[run.waitingFor ?? 'input']}
      </>
    ),
    at: run.startedAt ?? run.createdAt,
    ...(isDecision && { action: <Decisions id={run.id} /> }),
  };
}

/** The exact calls that wait, each with its decision. */
function Decisions({ id }: { id: string }): ReactNode {
  const { api, may } = useCaller();
  const { data } = useQuery({
    queryKey: ['run', id],
    queryFn: async ({ signal }) => await api.runs.get(id, {}, { signal }),
  });
  const calls = data?.result?.approvals ?? [];
  if (!may('runs:start')) return null;
  return calls.map((call) => <Decision key={`${call.callId} ${call.inputHash}`} rootId={id} call={call} />);
}

export function Decision({ rootId, call }: { rootId: string; call: PendingCallView }): ReactNode {
  const { api, may } = useCaller();
  if (call.approve === 'operator' && !may('runs:manage')) return null;
  const { callId, inputHash } = call;
  const body = (
    approved: boolean,
    reason: string,
  ): { callId: string; inputHash: string; approved: boolean; reason?: string } => ({
    callId,
    inputHash,
    approved,
    ...(reason !== '' && !approved && { reason }),
  });
  const path = `/v1/runs/${rootId}/approvals`;
  return (
    <>
      <Action
        label="Approve…"
        tone="primary"
        title={`Approve this call of ${plain(call.tool)}?`}
        verb="Approve this call"
        hasNote={false}
        request={() => ({ method: 'POST', path, body: body(true, '') })}
        run={async (_note, idempotencyKey) => await api.runs.decide(rootId, body(true, ''), { idempotencyKey })}
      >
        <p>The run executes exactly this call, once, and continues. This cannot be undone.</p>
        <Json value={call.input} />
      </Action>
      <Action
        label="Refuse…"
        tone="danger"
        title={`Refuse this call of ${plain(call.tool)}?`}
        verb="Refuse this call"
        request={(note) => ({ method: 'POST', path, body: body(false, note) })}
        run={async (note, idempotencyKey) => await api.runs.decide(rootId, body(false, note), { idempotencyKey })}
      >
        <p>The call is not executed. The agent reads the note as the reason, and continues without the call.</p>
        <Json value={call.input} />
      </Action>
    </>
  );
}

function useProtection(): Need[] {
  const { api, me } = useCaller();
  const { data } = useQuery({
    queryKey: ['protection'],
    enabled: me.namespaces.includes('*'),
    queryFn: async ({ signal }) => await api.protection.get({ signal }),
  });
  const explanation = data?.explanation;
  if (!explanation || explanation.state === 'normal') return [];
  return [{ key: 'protection', kind: 'protection', tone: 'bad', text: explanation.text, at: explanation.since }];
}

const WINDOWS: Record<BudgetView['window'], string> = { total: 'in total', daily: 'today', monthly: 'this month' };

function ofBudget(budget: BudgetView, mayWrite: boolean): Need {
  const { id, kind, subject, condition, available, limit, window } = budget;
  const unit = limit.microUsd !== null && (available.microUsd === 0 || limit.tokens === null) ? 'microUsd' : 'tokens';
  const format = unit === 'microUsd' ? money : (amount: number) => `${count(amount)} tokens`;
  const [left, most] = [available[unit] ?? 0, limit[unit] ?? 0];
  const name = kind === 'fleet' ? 'The fleet' : `${kind} ${plain(subject)}`;
  return {
    key: `budget ${id}`,
    kind: 'budget',
    tone: condition === 'exhausted' ? 'bad' : 'warn',
    text: (
      <>
        <b>{name}</b> has {most > 0 ? Math.floor((left / most) * 100) : 0} % left of {format(most)} {WINDOWS[window]}
      </>
    ),
    at: null,
    ...(mayWrite && { action: <TopUp id={id} name={name} unit={unit} by={most} format={format} /> }),
  };
}

interface TopUpProps {
  id: string;
  name: string;
  unit: 'tokens' | 'microUsd';
  by: number;
  format: (amount: number) => string;
}

/** Adds half of the limit. */
function TopUp({ id, name, unit, by, format }: TopUpProps): ReactNode {
  const { api } = useCaller();
  const amount = Math.max(1, Math.round(by / 2));
  const body = (note: string) => ({ [unit]: amount, ...(note !== '' && { note }) });
  return (
    <Action
      label="Top up…"
      title={`Top up the budget of ${name}?`}
      verb={`Add ${format(amount)}`}
      request={(note) => ({ method: 'POST', path: `/v1/budgets/${id}/topup`, body: body(note) })}
      run={async (note, idempotencyKey) => await api.budgets.topUp(id, body(note), { idempotencyKey })}
    >
      <p>
        The limit rises by {format(amount)}, which is half of it. Calls that the budget rejects now are admitted again.
        An adjustment undoes it.
      </p>
    </Action>
  );
}

function AgentName({ id }: { id: string }): ReactNode {
  return (
    <b>
      <Link to="/agents/$agentId" params={{ agentId: id }} className="text-link">
        {plain(id)}
      </Link>
    </b>
  );
}

function ofCircuit({ agentId, health, capabilities }: AgentView, mayQuery: boolean): Need {
  return {
    key: `circuit ${agentId}`,
    kind: 'circuit',
    tone: 'bad',
    text: (
      <>
        <AgentName id={agentId} /> gets no calls: its circuit is open after {count(health.consecutiveFailures)} failures
        in a row
        {capabilities.length > 0 && <> ({plain(capabilities.slice(0, 3).join(', '))})</>}. A probe follows by itself.
      </>
    ),
    at: null,
    ...(mayQuery && {
      action: (
        <Link to="/who" search={{ query: { capabilities }, about: agentId }} className="button">
          Who else?
        </Link>
      ),
    }),
  };
}

function ofSuspect({ agentId, health }: AgentView): Need {
  return {
    key: `suspect ${agentId}`,
    kind: 'silent',
    tone: 'warn',
    text: (
      <>
        <AgentName id={agentId} /> misses heartbeats and will be evicted if it stays silent
      </>
    ),
    at: health.lastHeartbeat,
  };
}
