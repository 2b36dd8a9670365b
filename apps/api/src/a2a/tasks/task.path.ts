import { isFinal, type Run, type RunStatus, type StoredStep, type WaitingFor } from '#rollcall/agent-runtime';

/** The states of a run from its question to the continued work. */
const PATH: readonly RunStatus[] = ['waiting', 'queued', 'running'];

/**
 * Lists all states of a run in order. A replica reads the state of a run after a change. So it may miss a short state that another
 * replica reads. The steps and the number of attempts show which states were in between, so all subscribers receive the same changes.
 */
export class TaskPath {
  /** `run` is the state that the subscriber knows. */
  constructor(private run: Run) {}

  get current(): Run {
    return this.run;
  }

  /** A message or a decision ends a wait, even if the subscriber has not received that wait. */
  afterStep({ step, at }: StoredStep): Run[] {
    const { state } = this.run;
    if (step.type === 'message') return this.waited('input', at);
    return step.type === 'approval-decided' && state !== 'queued' ? this.waited('approval', at) : [];
  }

  /** Returns an empty list if another replica continues the run in the same state, or if a step has already shown a later state. */
  afterState(now: Run): Run[] {
    const before = this.run;
    if (now.stateAt < before.stateAt) return [];
    this.run = now;
    const isSame = now.state === before.state && (now.state !== 'waiting' || now.attempts === before.attempts);
    return isSame ? [] : [...unseen(before, now).map((state) => past(before, state)), now];
  }

  private waited(waitingFor: WaitingFor, at: string): Run[] {
    const before = this.run;
    const wait = { ...past(before, 'waiting'), stateAt: at, waitingFor };
    const isSeen = before.state === 'waiting';
    const states = isSeen ? [] : [...(before.state === 'queued' ? [past(before, 'running')] : []), wait];
    this.run = { ...past(before, 'queued'), stateAt: at };
    return [...states, this.run];
  }
}

function unseen(before: Run, now: Run): RunStatus[] {
  if (isFinal(now.state) && now.attempts === before.attempts) return [];
  const end = PATH.indexOf(now.state);
  return PATH.slice(PATH.indexOf(before.state) + 1, end > 0 ? end : PATH.length);
}

/** The result of the run at that time is not known. */
function past(run: Run, state: RunStatus): Run {
  return { ...run, state, waitingFor: null, result: null };
}
