import { useMutation, useQueries, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { answerText, isFinished, type RunStepView, type RunTreeView, type RunView } from '#rollcall/client';
import { Action } from '../parts/action.js';
import { count, money, plain, spanText, words } from '../parts/format.js';
import { Ago, Fact, ForeignText, Json, Stat, Tag, useNow, useTitle } from '../parts/parts.js';
import { Empty, Loaded, Problem } from '../parts/states.js';
import { useCaller } from '../session/session.js';
import { Decision } from './needs-you.js';
import { runTone } from './run-words.js';
import { stateText, Took, tokensOf } from './runs.js';
import { runsOfTree, timelineOf, type TimelineRow } from './timeline.js';

/** More delegated runs than this are listed without their steps. */
const MAX_RUNS = 30;
const ROW_PX = 30;
/** A bar of a short step remains visible. */
const MIN_BAR_PX = 4;

/** The steps that do not end the text of an answer. */
const CONTINUES_ANSWER: ReadonlySet<RunStepView['type']> = new Set([
  'agent-accepted',
  'authorization',
  'tool-call',
  'tool-result',
]);

/** One run: what it did step by step, what it cost, and what it waits for. */
export function Run(): ReactNode {
  const { runId } = useParams({ from: '/runs/$runId' });
  const { api } = useCaller();
  const run = useQuery({
    queryKey: ['run', runId],
    queryFn: async ({ signal }) => await api.runs.get(runId, {}, { signal }),
  });
  const tree = useQuery({
    queryKey: ['run', 'tree', runId],
    queryFn: async ({ signal }) => await api.runs.getTree(runId, { signal }),
  });
  useTitle(run.data ? `${plain(run.data.agentId)} · ${runId.slice(0, 8)}` : 'Run');
  return (
    <Loaded
      query={{ data: run.data && tree.data && { run: run.data, tree: tree.data }, error: run.error ?? tree.error }}
    >
      {(data) => <Details key={runId} {...data} />}
    </Loaded>
  );
}

function Details({ run, tree }: { run: RunView; tree: RunTreeView }): ReactNode {
  const [selected, setSelected] = useState<string>();
  const answer = useAnswer(run);
  const steps = useSteps(tree);
  const rows = useMemo(() => timelineOf(tree, (id) => steps.get(id) ?? []), [tree, steps]);
  const row = rows.find(({ key }) => key === selected) ?? rows.findLast(({ kind }) => kind === 'wait') ?? rows[0];
  return (
    <>
      <Operations run={run} />
      <Numbers run={run} tree={tree} />
      <div className="run">
        <Timeline rows={rows} selected={row?.key} onSelect={setSelected} isLive={!isFinished(run)} />
        <div className="grid">
          {(run.result?.approvals ?? []).map((call) => (
            <section className="card" key={`${call.callId} ${call.inputHash}`}>
              <header>
                <h2>{plain(call.tool)}</h2>
                <Tag tone="warn">waits for a decision</Tag>
              </header>
              <div className="padded">
                <Json value={call.input} />
                <div className="buttons">
                  <Decision rootId={run.id} call={call} />
                </div>
              </div>
            </section>
          ))}
          {run.waitingFor === 'input' && <Answer run={run} />}
          {row && <Selected row={row} />}
          <Result run={run} live={answer} />
        </div>
      </div>
    </>
  );
}

/** The caller started the run, or may manage the runs of others. */
function useMayChange(run: RunView): boolean {
  const { may, me } = useCaller();
  return may('runs:start') && (may('runs:manage') || run.createdBy === me.owner);
}

function Operations({ run }: { run: RunView }): ReactNode {
  const { api } = useCaller();
  const navigate = useNavigate();
  const [error, setError] = useState<unknown>();
  const mayChange = useMayChange(run);
  const name = plain(run.agentId);
  const download = async (): Promise<void> => {
    setError(undefined);
    try {
      const exported = await api.runs.export(run.id);
      const url = URL.createObjectURL(new Blob([JSON.stringify(exported, null, 2)], { type: 'application/json' }));
      const link = Object.assign(document.createElement('a'), { href: url, download: `run-${run.id}.json` });
      link.click();
      URL.revokeObjectURL(url);
    } catch (thrown) {
      setError(thrown);
    }
  };
  return (
    <>
      <div className="buttons">
        <Link to="/runs" className="text-link muted">
          ← Runs
        </Link>
        <span className="space" />
        <button className="button" type="button" onClick={() => void download()}>
          Export
        </button>
        {mayChange && !isFinished(run) && (
          <Action
            label="Cancel…"
            tone="danger"
            title={`Cancel this run of ${name}?`}
            verb="Cancel the run"
            hasNote={false}
            request={() => ({ method: 'POST', path: `/v1/runs/${run.id}/cancel` })}
            run={async (_note, idempotencyKey) => await api.runs.cancel(run.id, { idempotencyKey })}
          >
            <p>
              The run and what it delegated end now. What was charged stays charged. “Retry” starts it again from the
              beginning.
            </p>
          </Action>
        )}
        {mayChange && isFinished(run) && run.redactedAt === null && (
          <Action
            label="Retry…"
            title={`Start this run of ${name} again?`}
            verb="Start again"
            hasNote={false}
            request={() => ({ method: 'POST', path: `/v1/runs/${run.id}/retry` })}
            run={async (_note, idempotencyKey) => {
              const next = await api.runs.retry(run.id, { idempotencyKey });
              await navigate({ to: '/runs/$runId', params: { runId: next.id } });
            }}
          >
            <p>A new run with the same input begins, and its page opens. This run does not change.</p>
          </Action>
        )}
      </div>
      {error !== undefined && <Problem error={error} />}
    </>
  );
}

function Numbers({ run, tree }: { run: RunView; tree: RunTreeView }): ReactNode {
  const own = run.usage.costMicroUsd ?? 0;
  const isPriced = run.usage.costMicroUsd !== undefined || tree.subtree.microUsd > 0;
  const { tokens, microUsd } = tree.subtree;
  const limits = [
    run.budget.tokens !== null && `${count(run.budget.tokens)} tokens`,
    run.budget.microUsd !== null && money(run.budget.microUsd),
  ];
  const limit = limits.filter((text) => text !== false).join(', ');
  return (
    <div className="grid four">
      <Stat
        label="State"
        value={<Tag tone={runTone(run.state)}>{stateText(run)}</Tag>}
        detail={
          <>
            started <Ago at={run.createdAt} /> ago by {plain(run.createdBy)}
          </>
        }
      />
      <Stat
        label="Cost"
        value={isPriced ? money(Math.max(microUsd, own)) : '–'}
        detail={isPriced ? `own ${money(own)} · delegated ${money(Math.max(0, microUsd - own))}` : 'no price is known'}
      />
      <Stat
        label="Tokens"
        value={count(Math.max(tokens, tokensOf(run)))}
        detail={limit === '' ? 'without a limit of its own' : `of at most ${limit}`}
      />
      <Stat
        label="Took"
        value={<Took run={run} />}
        detail={run.attempts > 1 ? `continued ${count(run.attempts - 1)} times on another replica` : 'on one replica'}
      />
    </div>
  );
}

/** Steps never change, so a run that grows is read from its last page on. */
interface StepsRead {
  readonly steps: readonly RunStepView[];
  /** Where the last page began. */
  readonly pageStart: number;
  readonly pageCursor: string | undefined;
}

const STEPS_PAGE = 200;

/** The steps of all runs of the tree. Those of the first page are shown before the others are read. */
function useSteps(tree: RunTreeView): ReadonlyMap<string, readonly RunStepView[]> {
  const { api } = useCaller();
  const queries = useQueryClient();
  const runs = runsOfTree(tree).slice(0, MAX_RUNS);
  return useQueries({
    queries: runs.map(({ id, redactedAt }) => {
      const queryKey = ['run', 'steps', id, redactedAt];
      return {
        queryKey,
        queryFn: async ({ signal }: { signal: AbortSignal }): Promise<StepsRead> => {
          const before = queries.getQueryData<StepsRead>(queryKey);
          const steps = before?.steps.slice(0, before.pageStart) ?? [];
          for (let pageCursor = before?.pageCursor; ;) {
            const input = { limit: STEPS_PAGE, ...(pageCursor !== undefined && { cursor: pageCursor }) };
            const { items, nextCursor } = await api.runs.listSteps(id, input, { signal }).page();
            const read: StepsRead = { steps: [...steps, ...items], pageStart: steps.length, pageCursor };
            if (nextCursor === null) return read;
            if (!before && steps.length === 0) queries.setQueryData(queryKey, read);
            steps.push(...items);
            pageCursor = nextCursor;
          }
        },
      };
    }),
    combine: (results) => {
      const found = new Map<string, readonly RunStepView[]>();
      for (const [index, { data }] of results.entries()) {
        const run = runs[index];
        if (run && data) found.set(run.id, data.steps);
      }
      return found;
    },
  });
}

/** Follows the run while it is in progress: each step is read again, and the pieces of the answer are shown as they are generated. */
function useAnswer(run: RunView): string {
  const { api } = useCaller();
  const queries = useQueryClient();
  const [text, setText] = useState('');
  const { id } = run;
  const isOpen = !isFinished(run);
  useEffect(() => {
    if (!isOpen) return undefined;
    const stop = new AbortController();
    const follow = async (): Promise<void> => {
      let after: number | undefined;
      for await (const { event, data } of api.runs.watch(id, { signal: stop.signal })) {
        if (event === 'text') {
          const isContinued = data.afterStep === after;
          after = data.afterStep;
          setText((before) => (isContinued ? before + data.text : data.text));
        }
        if (event === 'step' && !CONTINUES_ANSWER.has(data.type)) setText('');
        if (event === 'step' || event === 'state') await queries.invalidateQueries({ queryKey: ['run'] });
      }
    };
    follow().catch((error: unknown) => {
      if (!stop.signal.aborted) setText(error instanceof Error ? error.message : String(error));
    });
    return () => stop.abort();
  }, [api, id, isOpen, queries]);
  return text;
}

interface TimelineProps {
  rows: readonly TimelineRow[];
  selected: string | undefined;
  onSelect: (key: string) => void;
  isLive: boolean;
}

/** The tree left, bars on one axis, the duration right. Only the rows on the screen are in the page. */
function Timeline({ rows, selected, onSelect, isLive }: TimelineProps): ReactNode {
  const holder = useRef<HTMLDivElement>(null);
  const now = useNow();
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => holder.current,
    estimateSize: () => ROW_PX,
    overscan: 10,
  });
  const startMs = rows[0]?.startMs ?? 0;
  const endMs = rows.reduce((latest, row) => Math.max(latest, row.endMs ?? now), startMs + 1);
  const span = endMs - startMs;
  return (
    <section className="card">
      <header>
        <h2>Timeline</h2>
        <small>
          {count(rows.length)} {rows.length === 1 ? 'row' : 'rows'}
          {isLive && ', live'}
        </small>
      </header>
      <div className="wf-head" aria-hidden="true">
        <span />
        <div>
          {[0, 1 / 3, 2 / 3, 1].map((part) => (
            <span key={part} className={part > 0 && part < 1 ? 'secondary' : ''}>
              {part === 0 ? '0' : spanText(span * part)}
            </span>
          ))}
        </div>
        <span />
      </div>
      <div className="scroll timeline" ref={holder} tabIndex={0} role="region" aria-label="Timeline of the run">
        <div style={{ height: list.getTotalSize(), position: 'relative' }}>
          {list.getVirtualItems().map(({ index, start }) => {
            const row = rows[index];
            if (!row) return null;
            const end = row.endMs ?? endMs;
            const x = ((row.startMs - startMs) / span) * 100;
            const width = ((end - row.startMs) / span) * 100;
            return (
              <button
                key={row.key}
                type="button"
                className="wf"
                aria-pressed={row.key === selected}
                style={{ position: 'absolute', top: start, left: 0 }}
                onClick={() => onSelect(row.key)}
              >
                <span className="name" style={{ paddingLeft: row.depth * 16 }}>
                  <svg width="8" height="8" aria-hidden="true">
                    <rect width="8" height="8" rx="2" className={`kind-${row.kind}`} />
                  </svg>
                  <span title={row.name}>{row.name}</span>
                </span>
                <svg className="track" aria-hidden="true">
                  <rect
                    style={{ x: `min(${x}%, 100% - ${MIN_BAR_PX}px)`, width: `max(${width}%, ${MIN_BAR_PX}px)` }}
                    height="10"
                    rx="3"
                    className={`kind-${row.kind}`}
                  />
                </svg>
                <span className="duration">{end === row.startMs ? '' : spanText(Math.max(0, end - row.startMs))}</span>
              </button>
            );
          })}
        </div>
      </div>
    </section>
  );
}

const KINDS: Record<TimelineRow['kind'], string> = {
  run: 'run',
  model: 'call of a model',
  tool: 'call of a tool',
  wait: 'waiting',
  bad: 'failed',
  message: 'message of the caller',
};

/** What the selected row contains, beside the timeline. */
function Selected({ row }: { row: TimelineRow }): ReactNode {
  const { name, kind, steps, run } = row;
  return (
    <section className="card">
      <header>
        <h2>{name}</h2>
        <small>{KINDS[kind]}</small>
      </header>
      {run && (
        <dl className="facts">
          <Fact term="Run">
            <Link to="/runs/$runId" params={{ runId: run.id }} className="mono text-link">
              {run.id}
            </Link>
          </Fact>
          <Fact term="State">{stateText(run)}</Fact>
          <Fact term="Input">{plain(run.inputPreview.text)}</Fact>
          {run.resultPreview && <Fact term="Result">{plain(run.resultPreview.text)}</Fact>}
          {run.resultPreview?.error && (
            <Fact term="Error">{plain(`${run.resultPreview.error.code}: ${run.resultPreview.error.message}`)}</Fact>
          )}
          <Fact term="Usage">
            {count(tokensOf(run))} tokens
            {run.usage.costMicroUsd !== undefined && `, ${money(run.usage.costMicroUsd)}`}
          </Fact>
        </dl>
      )}
      {steps.map((step) => (
        <div className="padded" key={step.seq}>
          <StepContent step={step} />
        </div>
      ))}
    </section>
  );
}

function StepContent({ step: { step } }: { step: RunStepView }): ReactNode {
  if (step.type === 'message') return <ForeignText text={answerText({ result: { parts: step.parts } })} />;
  if (step.type === 'model-replied') {
    const { inputTokens = 0, outputTokens = 0 } = step.reply.usage;
    const cost = (step.charges ?? []).reduce((sum, { microUsd }) => sum + (microUsd ?? 0), 0);
    return (
      <>
        <p className="muted">
          {count(inputTokens)} tokens in, {count(outputTokens)} out, {money(cost)}
        </p>
        {step.reply.content.map((part, index) =>
          part.type === 'tool-call' ? (
            <p key={part.id}>
              calls <b>{plain(part.name)}</b>
            </p>
          ) : (
            // oxlint-disable-next-line react/no-array-index-key -- the parts of a stored reply never change
            <ForeignText key={index} text={part.text} />
          ),
        )}
      </>
    );
  }
  if (step.type === 'tool-called') return <Json value={step.call.input} />;
  if (step.type === 'tool-call') return <Json value={step.input} />;
  if (step.type === 'tool-finished' || step.type === 'tool-result')
    return (
      <>
        <p className="muted">{step.failed === true ? 'failed' : 'returned'}</p>
        <ForeignText text={step.output} />
      </>
    );
  if (step.type === 'finished') return <ForeignText text={answerText({ result: { parts: step.result.parts } })} />;
  return <Json value={step} />;
}

/** The answer so far, the result, or why there is none. */
function Result({ run, live }: { run: RunView; live: string }): ReactNode {
  const text = answerText(run);
  const { result } = run;
  if (run.waitingFor === 'input') return null; // the question is shown above the field for the answer
  if (!isFinished(run) && live === '' && text === '') return null;
  return (
    <section className="card" aria-live="polite">
      <header>
        <h2>{isFinished(run) ? 'Result' : 'Answer so far'}</h2>
        {result?.reason !== undefined && <small>{words(result.reason)}</small>}
      </header>
      <div className="padded">
        {result?.error && (
          <p>
            {plain(result.error.message)} <small className="muted">{result.error.code}</small>
          </p>
        )}
        {result?.detail !== undefined && <p className="muted">{plain(result.detail)}</p>}
        {(live || text) !== '' && <ForeignText text={live || text} />}
        {result && !result.error && text === '' && live === '' && <Empty>The result contains no text.</Empty>}
      </div>
    </section>
  );
}

/** A text that is sent again has the same Idempotency-Key, another text has another one. */
function draftOf(text: string): { text: string; key: string } {
  return { text, key: crypto.randomUUID() };
}

/** The caller answers a question of the agent. */
function Answer({ run }: { run: RunView }): ReactNode {
  const { api } = useCaller();
  const mayChange = useMayChange(run);
  const queries = useQueryClient();
  const [{ text, key }, setDraft] = useState(() => draftOf(''));
  const sending = useMutation({
    mutationFn: async () => await api.runs.sendMessage(run.id, { input: text }, { idempotencyKey: key }),
    onSuccess: async () => {
      setDraft(draftOf(''));
      await queries.invalidateQueries();
    },
  });
  if (!mayChange) return null;
  return (
    <section className="card">
      <header>
        <h2>The agent asks</h2>
        <Tag tone="warn">waits for an answer</Tag>
      </header>
      <div className="padded">
        <ForeignText text={answerText(run)} />
        <textarea
          className="field"
          aria-label="Your answer"
          rows={3}
          value={text}
          onChange={({ target }) => setDraft(draftOf(target.value))}
        />
        <div className="buttons">
          <button
            className="button primary"
            type="button"
            disabled={text.trim() === '' || sending.isPending}
            onClick={() => sending.mutate()}
          >
            Answer
          </button>
        </div>
        {sending.error && <Problem error={sending.error} />}
      </div>
    </section>
  );
}
