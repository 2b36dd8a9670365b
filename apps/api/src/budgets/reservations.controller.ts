import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiForbiddenResponse,
  ApiOkResponse,
  ApiOperation,
  ApiResponse,
  ApiTags,
} from '@nestjs/swagger';
import { PresetBook, priceUsage } from '#rollcall/providers';
import { BudgetLedger, type Spender, type Usage, USUAL_TTL_MS } from '#rollcall/registry';
import { Caller } from '../auth/caller.js';
import type { Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { Mutation } from '../mutation/mutation.js';
import { type ReservationView, toReservationView } from './budget.view.js';
import { RenewBody, ReservationParams, ReserveBody, SettleBody } from './budgets.dto.js';
import { RESERVATION_EXAMPLE } from './budgets.examples.js';

const SETTLED = { ...RESERVATION_EXAMPLE, state: 'settled', used: { tokens: 1_500, microUsd: 22_500 } };

/** For runtimes that are not ours: the same ledger, spent from over HTTP. A key is its caller's own. */
@ApiTags('budgets')
@Controller('budgets/reservations')
@Permit('budgets:spend')
export class ReservationsController {
  constructor(
    private readonly ledger: BudgetLedger,
    private readonly presets: PresetBook,
  ) {}

  @Post()
  @Mutation({ audit: null })
  @ApiOperation({
    summary: 'Reserve before a call',
    description:
      'On every budget concerned: of the agent, of you, of the run and all above it, and of the fleet. All or none.',
  })
  @ApiCreatedResponse({ schema: { example: RESERVATION_EXAMPLE } })
  @ApiResponse({ status: 402, description: 'BUDGET_EXHAUSTED: `budget` says which one, and how much it has.' })
  @ApiForbiddenResponse({ description: 'RESERVATION_TOO_LARGE, QUOTA_EXCEEDED' })
  async reserve(@Body() body: ReserveBody, @Caller() caller: Principal): Promise<ReservationView> {
    const { id: owner } = caller;
    const { key, agentId = null, runId = null, tokens, microUsd = 0, atLeastTokens, ttlSeconds } = body;
    const ttlMs = toTtlMs(ttlSeconds);
    const scopes = { agentId, callerId: owner, runId };
    const ask = { owner, key, scopes, amount: { tokens, microUsd }, atLeastTokens, ttlMs };
    return toReservationView(await this.ledger.reserve(ask, spenderOf(caller)));
  }

  @Get(':key')
  @ApiOperation({ summary: 'Look at a reservation of yours' })
  @ApiOkResponse({ schema: { example: RESERVATION_EXAMPLE } })
  async get(@Param() { key }: ReservationParams, @Caller() { id: owner }: Principal): Promise<ReservationView> {
    return toReservationView(await this.ledger.get({ owner, key }));
  }

  @Post(':key/settle')
  @HttpCode(200)
  @Mutation({ audit: null })
  @ApiOperation({
    summary: 'Charge what a call really used',
    description:
      'In full, also above the reservation and after its expiry. What was not used is free again. Far above the reservation it needs `budgets:write`.',
  })
  @ApiOkResponse({ schema: { example: SETTLED } })
  @ApiForbiddenResponse({ description: 'SETTLEMENT_TOO_LARGE: nothing is charged, and the reservation stays open.' })
  async settle(
    @Param() { key }: ReservationParams,
    @Body() body: SettleBody,
    @Caller() caller: Principal,
  ): Promise<ReservationView> {
    const of = { owner: caller.id, key };
    return toReservationView(await this.ledger.settle(of, this.usageIn(body), spenderOf(caller)));
  }

  @Post(':key/release')
  @HttpCode(200)
  @Mutation({ audit: null })
  @ApiOperation({ summary: 'Give a reservation back', description: 'When nothing was used.' })
  @ApiOkResponse({ schema: { example: { ...RESERVATION_EXAMPLE, state: 'released' } } })
  async release(@Param() { key }: ReservationParams, @Caller() { id: owner }: Principal): Promise<ReservationView> {
    return toReservationView(await this.ledger.release({ owner, key }));
  }

  @Post(':key/renew')
  @HttpCode(200)
  @Mutation({ audit: null })
  @ApiOperation({
    summary: 'Keep a reservation for longer',
    description: 'For a call that outlives it: so long from now. It never shortens it; one that has lapsed is over.',
  })
  @ApiOkResponse({ schema: { example: RESERVATION_EXAMPLE } })
  async renew(
    @Param() { key }: ReservationParams,
    @Body() { ttlSeconds }: RenewBody,
    @Caller() caller: Principal,
  ): Promise<ReservationView> {
    const of = { owner: caller.id, key };
    return toReservationView(await this.ledger.renew(of, toTtlMs(ttlSeconds), spenderOf(caller)));
  }

  /** Amounts that the caller states take precedence over those derived from `usage`. */
  private usageIn({ tokens, microUsd, usage, model }: SettleBody): Usage {
    const derived = usage && priceUsage(usage, model, this.presets);
    return { tokens: tokens ?? derived?.tokens ?? null, microUsd: microUsd ?? derived?.microUsd ?? null };
  }
}

function spenderOf({ permissions }: Principal): Spender {
  return permissions.includes('budgets:write') ? 'trusted' : 'limited';
}

function toTtlMs(seconds: number | undefined): number {
  return seconds === undefined ? USUAL_TTL_MS : seconds * 1_000;
}
