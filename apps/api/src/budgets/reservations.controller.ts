import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiBody, ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { qualifiedId } from '#rollcall/platform';
import { PresetCatalog, priceUsage } from '#rollcall/providers';
import { BudgetLedger, DEFAULT_TTL_MS, type Spender, type Usage } from '#rollcall/registry';
import { Permit } from '../auth/route.access.js';
import { ApiError } from '../http/problems/api.error.js';
import { Problems } from '../http/problems/problem.docs.js';
import { Mutation } from '../mutation/mutation.js';
import { maySpendOnAll } from './budget.subject.js';
import {
  RenewBody,
  ReservationParams,
  ReservationView,
  RESERVE_EXAMPLES,
  ReserveBody,
  SETTLE_EXAMPLES,
  SettleBody,
  toReservationView,
} from './reservations.dto.js';
import { Caller, type Principal } from '../auth/principal.js';

/** Reservations for runtimes outside Rollcall. Each caller has its own keys in each namespace. */
@ApiTags('budgets')
@Controller('budgets/reservations')
@Permit('budgets:spend')
@Problems('RESERVATION_NOT_FOUND')
export class ReservationsController {
  constructor(
    private readonly ledger: BudgetLedger,
    private readonly presets: PresetCatalog,
  ) {}

  @Post()
  @Permit('budgets:spend')
  @Mutation({ audit: null })
  @ApiOperation({
    operationId: 'budgets.reserve',
    summary: 'Reserve an amount before a call',
    description:
      'Reserves on all these budgets, or on none: the budgets of the agent, the caller, the run and all runs above it, the ' +
      'namespace, and the fleet. Without the permission `budgets:spend-any`, the caller must own the agent and the run.',
  })
  @ApiBody({ type: ReserveBody, examples: RESERVE_EXAMPLES })
  @ApiCreatedResponse({ type: ReservationView, description: 'The reservation is held.' })
  @Problems('INVALID_BUDGET', 'BUDGET_EXHAUSTED', 'RESERVATION_TOO_LARGE', 'BUDGET_SHARE_EXCEEDED', 'QUOTA_EXCEEDED')
  @Problems('RESERVATION_KEY_REUSED', 'BUDGET_NOT_FOUND', {
    NOT_THE_OWNER: 'The credential lacks the permission `budgets:spend-any` and does not own the agent or the run.',
  })
  async reserve(@Body() body: ReserveBody, @Caller() caller: Principal): Promise<ReservationView> {
    const owner = ownerOf(caller);
    const { key, agentId, runId, tokens, microUsd = 0, atLeastTokens, ttlSeconds } = body;
    const ttlMs = toTtlMs(ttlSeconds);
    const qualified = (id: string | undefined): string | null =>
      id === undefined ? null : qualifiedId(caller.namespace, id);
    const scopes = { agentId: qualified(agentId), callerId: owner, runId: qualified(runId) };
    const onlyOwnedBy = maySpendOnAll(caller) ? undefined : caller.owner;
    if (onlyOwnedBy !== undefined && scopes.agentId === null && scopes.runId === null) throw unnamed();
    const spender = spenderOf(caller);
    const bound = spender === 'limited' ? { shareOf: caller.owner } : {};
    const request = { owner, key, scopes, onlyOwnedBy, ...bound, amount: { tokens, microUsd }, atLeastTokens, ttlMs };
    return toReservationView(await this.ledger.reserve(request, spender));
  }

  @Get(':key')
  @ApiOperation({ operationId: 'budgets.getReservation', summary: 'Get a reservation of the caller' })
  @ApiOkResponse({ type: ReservationView, description: 'The reservation.' })
  async get(@Param() { key }: ReservationParams, @Caller() caller: Principal): Promise<ReservationView> {
    return toReservationView(await this.ledger.get({ owner: ownerOf(caller), key }));
  }

  @Post(':key/settle')
  @HttpCode(200)
  @Permit('budgets:spend')
  @Mutation({ audit: null })
  @ApiOperation({
    operationId: 'budgets.settle',
    summary: 'Charge what a call used',
    description:
      'Charges the full amount, even above the reservation or after its expiry, and frees the rest of it. An amount far above ' +
      'the reservation requires the permission `budgets:write`.',
  })
  @ApiBody({ type: SettleBody, examples: SETTLE_EXAMPLES })
  @ApiOkResponse({ type: ReservationView, description: 'The reservation is settled.' })
  @Problems({
    RESERVATION_CLOSED: 'The reservation is released, or was settled with another amount, which is in `used`.',
    SETTLEMENT_TOO_LARGE: 'Nothing is charged, and the reservation stays open.',
  })
  async settle(
    @Param() { key }: ReservationParams,
    @Body() body: SettleBody,
    @Caller() caller: Principal,
  ): Promise<ReservationView> {
    const of = { owner: ownerOf(caller), key };
    return toReservationView(await this.ledger.settle(of, this.usageIn(body, caller.namespace), spenderOf(caller)));
  }

  @Post(':key/release')
  @HttpCode(200)
  @Mutation({ audit: null })
  @ApiOperation({
    operationId: 'budgets.release',
    summary: 'Release a reservation',
    description: 'For a call that used nothing.',
  })
  @ApiOkResponse({ type: ReservationView, description: 'The reservation is released.' })
  @Problems('RESERVATION_CLOSED')
  async release(@Param() { key }: ReservationParams, @Caller() caller: Principal): Promise<ReservationView> {
    return toReservationView(await this.ledger.release({ owner: ownerOf(caller), key }));
  }

  @Post(':key/renew')
  @HttpCode(200)
  @Mutation({ audit: null })
  @ApiOperation({
    operationId: 'budgets.renew',
    summary: 'Extend a reservation',
    description:
      'The new end is `ttlSeconds` from now, but never earlier than the old end. An expired reservation cannot be extended.',
  })
  @ApiOkResponse({ type: ReservationView, description: 'The reservation is extended.' })
  @Problems('RESERVATION_CLOSED')
  async renew(
    @Param() { key }: ReservationParams,
    @Body() { ttlSeconds }: RenewBody,
    @Caller() caller: Principal,
  ): Promise<ReservationView> {
    const of = { owner: ownerOf(caller), key };
    return toReservationView(await this.ledger.renew(of, toTtlMs(ttlSeconds), spenderOf(caller)));
  }

  /** Amounts that the caller states take precedence over amounts that are derived from `usage`. */
  private usageIn({ tokens, microUsd, usage, model }: SettleBody, namespace: string): Usage {
    const derived = usage && priceUsage(usage, model, this.presets.in(namespace));
    return { tokens: tokens ?? derived?.tokens ?? null, microUsd: microUsd ?? derived?.microUsd ?? null };
  }
}

function unnamed(): ApiError {
  const detail =
    'Name an agent or a run that you own in agentId or runId. A reservation without them requires the permission budgets:spend-any.';
  return new ApiError('FORBIDDEN', detail);
}

/** A caller is a different owner in each namespace, so it cannot settle a reservation of another namespace. */
function ownerOf({ namespace, id }: Principal): string {
  return qualifiedId(namespace, id);
}

function spenderOf({ permissions }: Principal): Spender {
  return permissions.includes('budgets:write') ? 'trusted' : 'limited';
}

function toTtlMs(seconds: number | undefined): number {
  return seconds === undefined ? DEFAULT_TTL_MS : seconds * 1_000;
}
