import { qualifiedId } from '#rollcall/platform';
import { type Announcement, type BidRequest, type ContractActor, DEFAULT_WEIGHTS } from '#rollcall/registry';
import { mayActForAll } from '../agents/agent.credential.js';
import type { Principal } from '../auth/principal.js';
import { ApiError, type FieldError } from '../http/problems/api.error.js';
import { validationFailed } from '../http/validation/validation.errors.js';
import type { AnnounceBody, BidBody } from './contracts.dto.js';

/** With `run`, the contract starts a run on behalf of the caller, so the caller must be allowed to start runs. */
export function toAnnouncement(body: AnnounceBody, caller: Principal): Announcement {
  const { capabilities, task, bidWithinMs, confirmWithinMs, limits, reserve, weights, run = false } = body;
  const { namespace, id, owner: by, permissions } = caller;
  if (run && !permissions.includes('runs:start'))
    throw new ApiError(
      'FORBIDDEN',
      'A contract with run requires the permission runs:start. Use a credential whose roles include this permission.',
    );
  return {
    namespace,
    capabilities,
    task,
    bidWithinMs,
    confirmWithinMs,
    limits: { price: limits?.price ?? null, etaMs: limits?.etaMs ?? null },
    reserve: { tokens: reserve?.tokens ?? 0, microUsd: reserve?.microUsd ?? null, runId: null },
    scoring: body.scoring ?? 'weighted',
    weights: {
      price: weights?.price ?? DEFAULT_WEIGHTS.price,
      eta: weights?.eta ?? DEFAULT_WEIGHTS.eta,
      confidence: weights?.confidence ?? DEFAULT_WEIGHTS.confidence,
      reliability: weights?.reliability ?? DEFAULT_WEIGHTS.reliability,
    },
    run,
    by,
    payer: qualifiedId(namespace, id),
  };
}

/** A refusal has no terms, and a bid has all of them. */
export function toBid({ price, etaMs, confidence, refuse = false, ...rest }: BidBody): BidRequest {
  const note = rest.note ?? null;
  if (refuse) {
    const given = Object.entries({ price, etaMs, confidence }).filter(([, value]) => value !== undefined);
    if (given.length > 0) throw validationFailed(given.map(([field]) => without(field)));
    return { refuse: true, note };
  }
  if (price !== undefined && etaMs !== undefined && confidence !== undefined)
    return { offer: { price, etaMs, confidence, note } };
  const missing = Object.entries({ price, etaMs, confidence }).filter(([, value]) => value === undefined);
  throw validationFailed(missing.map(([field]) => required(field)));
}

export function contractActor(caller: Principal): ContractActor {
  return { by: caller.owner, mayManage: mayActForAll(caller) };
}

function without(field: string): FieldError {
  return { field, message: `${field} must not be sent with refuse` };
}

function required(field: string): FieldError {
  return { field, message: `${field} is required, unless refuse is true` };
}
