import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import {
  type ConversationMessageView,
  type ConversationRunView,
  isFinished,
  type RunStepView,
  type RunView,
} from '#rollcall/client';
import { count, money, plain, spanText, words } from '../../parts/format.js';
import { ForeignText, Json, Tag } from '../../parts/parts.js';
import { useCaller } from '../../session/session.js';
import { Decision } from '../needs-you.js';
import { runTone } from '../run-words.js';
import { stateText, Took, tokensOf } from '../runs.js';

/** A message of a conversation. It is never markup. */
export function Bubble({ role, text }: { role: 'user' | 'agent'; text: string }): ReactNode {
  return (
    <div className={`bubble ${role}`}>
      <span className="visually-hidden">{role === 'user' ? 'You:' : 'Agent:'}</span>
      <ForeignText text={text} />
    </div>
  );
}

function textOf({ parts }: ConversationMessageView): string {
  return parts
    .map((part) => {
      if (part.type === 'text') return part.text;
      return part.type === 'data' ? JSON.stringify(part.data, null, 2) : `[file ${part.name ?? part.mediaType}]`;
    })
    .join('\n');
}

/** One run of the conversation: the message, the calls of tools, the answer, and what it took. */
export function Turn({ run }: { run: ConversationRunView }): ReactNode {
  return isFinished(run) ? <FinishedTurn run={run} /> : <OpenTurn run={run} />;
}

function FinishedTurn({ run }: { run: ConversationRunView }): ReactNode {
  const { api } = useCaller();
  const steps = useQuery({
    queryKey: ['finished-steps', run.id],
    staleTime: Infinity,
    queryFn: async ({ signal }) => {
      const all: RunStepView[] = [];
      for await (const step of api.runs.listSteps(run.id, { limit: 200 }, { signal })) {
        all.push(step);
        if (all.length >= MAX_STEPS) break;
      }
      return all;
    },
  });
  const failure = useQuery({
    queryKey: ['run', run.id],
    enabled: run.state !== 'completed',
    queryFn: async ({ signal }) => await api.runs.get(run.id, {}, { signal }),
  });
  const { error, detail } = failure.data?.result ?? {};
  return (
    <Layout run={run} steps={steps.data ?? []} live="">
      {run.state !== 'completed' && (
        <p className="turn-problem">
          <Tag tone={runTone(run.state)}>{run.state}</Tag> {plain(error?.message ?? detail ?? '')}{' '}
          {error && <small className="muted">{error.code}</small>}
        </p>
      )}
    </Layout>
  );
}

const MAX_STEPS = 400;

/** Follows the run: its steps, the pieces of its answer, and what it waits for. */
function OpenTurn({ run }: { run: ConversationRunView }): ReactNode {
  const { api } = useCaller();
  const queries = useQueryClient();
  const { id } = run;
  const [steps, setSteps] = useState<readonly RunStepView[]>([]);
  const [live, setLive] = useState('');
  const [state, setState] = useState<RunView>();
  const [error, setError] = useState<string>();
  useEffect(() => {
    const stop = new AbortController();
    const follow = async (): Promise<void> => {
      for await (const { event, data } of api.runs.watch(id, { signal: stop.signal })) {
        if (event === 'text') setLive((before) => before + data.text);
        if (event === 'step') {
          setSteps((before) => [...before, data]);
          setLive('');
        }
        if (event === 'state') {
          setState(data);
          await queries.invalidateQueries({ queryKey: ['runs', 'conversation'] });
        }
      }
    };
    setSteps([]);
    follow().catch((thrown: unknown) => {
      if (!stop.signal.aborted) setError(thrown instanceof Error ? thrown.message : String(thrown));
    });
    return () => stop.abort();
  }, [api, id, queries]);
  const now = state ?? run;
  return (
    <Layout run={run} steps={steps} live={live}>
      {(state?.result?.approvals ?? []).map((call) => (
        <div className="pending" key={`${call.callId} ${call.inputHash}`}>
          <p>
            <Tag tone="warn">approve</Tag> <b>{plain(call.tool)}</b> waits for a decision about exactly this call:
          </p>
          <Json value={call.input} />
          <div className="buttons">
            <Decision rootId={id} call={call} />
          </div>
        </div>
      ))}
      {now.waitingFor !== 'input' && now.waitingFor !== 'approval' && (
        <p className="turn-problem">
          <Tag tone={runTone(now.state)}>
            {now.state === 'waiting' ? `waits for ${words(now.waitingFor ?? '')}` : now.state}
          </Tag>
        </p>
      )}
      {error !== undefined && <p className="turn-problem">{plain(error)}</p>}
    </Layout>
  );
}

interface LayoutProps {
  run: ConversationRunView;
  steps: readonly RunStepView[];
  /** The answer while it is generated. */
  live: string;
  children: ReactNode;
}

function Layout({ run, steps, live, children }: LayoutProps): ReactNode {
  const first = run.messages.findIndex(({ role }) => role === 'agent');
  const asked = first < 0 ? run.messages : run.messages.slice(0, first);
  const said = first < 0 ? [] : run.messages.slice(first);
  const calls = callsOf(steps);
  return (
    <article className="turn">
      {asked.map((message, at) => (
        <Bubble key={`${message.at} ${at}`} role={message.role} text={textOf(message)} />
      ))}
      {calls.length > 0 && (
        <ul className="plain-list calls" aria-label="Calls of tools">
          {calls.map((call) => (
            <ToolCall key={call.id} call={call} />
          ))}
        </ul>
      )}
      {said.map((message, at) => (
        <Bubble key={`${message.at} ${at}`} role={message.role} text={textOf(message)} />
      ))}
      {live !== '' && <Bubble role="agent" text={live} />}
      {children}
      <Receipt run={run} steps={steps} />
    </article>
  );
}

/** What the run took and cost. */
function Receipt({ run, steps }: { run: ConversationRunView; steps: readonly RunStepView[] }): ReactNode {
  const turns = steps.filter(({ type }) => type === 'model-replied').length;
  const { costMicroUsd } = run.usage;
  return (
    <p className="receipt">
      <span title={stateText(run)}>
        <Took run={{ startedAt: run.createdAt, finishedAt: run.finishedAt }} />
      </span>
      <span>{count(tokensOf(run))} tokens</span>
      {costMicroUsd !== undefined && <span>{money(costMicroUsd)}</span>}
      {turns > 1 && <span>{count(turns)} turns</span>}
      <Link to="/runs/$runId" params={{ runId: run.id }} className="text-link">
        open the run
      </Link>
    </p>
  );
}

interface Call {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly output: string | undefined;
  readonly isFailed: boolean;
  readonly ms: number | undefined;
}

/** The calls of tools with their results, those of agents with their own loop, too. */
function callsOf(steps: readonly RunStepView[]): Call[] {
  const results = new Map<string, RunStepView>();
  for (const step of steps) {
    if (step.step.type === 'tool-finished') results.set(step.step.callId, step);
    if (step.step.type === 'tool-result') results.set(step.step.id, step);
  }
  return steps.flatMap(({ step, at }) => {
    if (step.type !== 'tool-called' && step.type !== 'tool-call') return [];
    const { id, name, input } = step.type === 'tool-called' ? step.call : step;
    const result = results.get(id);
    const end = result?.step;
    return [
      {
        id,
        name,
        input,
        output: end && 'output' in end ? end.output : undefined,
        isFailed: end !== undefined && 'failed' in end && end.failed,
        ms: result && Date.parse(result.at) - Date.parse(at),
      },
    ];
  });
}

function ToolCall({ call: { name, input, output, isFailed, ms } }: { call: Call }): ReactNode {
  return (
    <li>
      <details className="call">
        <summary>
          <svg width="8" height="8" aria-hidden="true">
            <rect width="8" height="8" rx="2" className={isFailed ? 'kind-bad' : 'kind-tool'} />
          </svg>
          <b>{plain(name)}</b>
          <span className="mono">{plain(JSON.stringify(input)).slice(0, 120)}</span>
          {isFailed && <Tag tone="bad">failed</Tag>}
          <span className="muted">{ms === undefined ? 'in progress' : spanText(ms)}</span>
        </summary>
        <Json value={input} />
        {output !== undefined && <ForeignText text={output} />}
      </details>
    </li>
  );
}
