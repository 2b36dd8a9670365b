import { choiceOf, type ModelProvider, type ModelReply, ProviderError } from '#rollcall/providers';
import {
  type CircuitPolicy,
  type CircuitState,
  CLOSED_CIRCUIT,
  DEFAULT_CIRCUIT_POLICY,
  nextCircuitChange,
  stepCircuit,
} from '#rollcall/registry';
import { RuntimeError } from '../errors.js';
import type { ModelCall, ModelMiddleware, ModelNext } from './middleware.js';

/** The model failed repeatedly, so it is not called for a limited time. */
export class ModelCircuitOpenError extends RuntimeError {
  readonly code = 'MODEL_CIRCUIT_OPEN';

  constructor(
    label: string,
    override readonly retryAfterMs: number,
  ) {
    const seconds = Math.ceil(retryAfterMs / 1_000);
    super(`The circuit of the model ${label} is open. Use another model, or call this one again in ${seconds} s.`);
  }
}

interface ModelCircuitOptions {
  policy?: CircuitPolicy;
  now?: () => number;
}

/**
 * One circuit for each model, in the memory of this process. Share one instance between all agents. Only faults of the vendor count
 * as failures. A call that the caller, the operator or a budget ended is neither a failure nor a success.
 */
export class ModelCircuit implements ModelMiddleware {
  readonly name = 'modelCircuit';
  /** Contains only models that failed, so it stays small. */
  private readonly states = new Map<string, CircuitState>();
  private readonly policy: CircuitPolicy;
  private readonly now: () => number;
  private probes = 0;

  constructor({ policy = DEFAULT_CIRCUIT_POLICY, now = () => performance.now() }: ModelCircuitOptions = {}) {
    this.policy = policy;
    this.now = now;
  }

  async call(call: ModelCall, next: ModelNext): Promise<ModelReply> {
    const key = keyOf(call.model);
    const probeId = this.admit(key, call.model);
    try {
      const reply = await next(call);
      this.step(key, { kind: 'outcome', ok: true, ...(probeId !== undefined && { probeId }) });
      return reply;
    } catch (error) {
      if (error instanceof ProviderError && error.fault === 'remote')
        this.step(key, { kind: 'outcome', ok: false, ...(probeId !== undefined && { probeId }) });
      else if (probeId !== undefined) this.step(key, { kind: 'return', probeId });
      throw error;
    }
  }

  /** Returns the id of the probe if the call is a probe. */
  private admit(key: string, { vendor, model }: ModelProvider): string | undefined {
    const state = this.states.get(key);
    if (!state || state.phase === 'closed') return undefined;
    const probeId = String((this.probes += 1));
    if (this.step(key, { kind: 'acquire', probeId }).acquired) return probeId;
    const now = this.now();
    const next = nextCircuitChange(this.states.get(key) ?? CLOSED_CIRCUIT, now) ?? now;
    throw new ModelCircuitOpenError(`${vendor} ${model}`, Math.max(0, next - now));
  }

  private step(key: string, input: Parameters<typeof stepCircuit>[1]): ReturnType<typeof stepCircuit> {
    const before = this.states.get(key) ?? CLOSED_CIRCUIT;
    const step = stepCircuit(before, input, this.now(), this.policy);
    if (step.state === CLOSED_CIRCUIT) this.states.delete(key);
    else this.states.set(key, step.state);
    return step;
  }
}

/** Presets that differ only in their settings call the same model with the same key, so they share a circuit. */
function keyOf(model: ModelProvider): string {
  const { baseUrl = '', keyEnv = '' } = choiceOf(model) ?? {};
  return `${model.vendor}\n${model.model}\n${baseUrl}\n${keyEnv}`;
}
