import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiBody, ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { ContractBidding, ContractOutcomes, ContractsService } from '#rollcall/registry';
import { agentCredential } from '../agents/agent.credential.js';
import { Limits } from '../http/server/routes.js';
import { Permit } from '../auth/route.access.js';
import { PagedList } from '../http/page.js';
import { Problems } from '../http/problems/problem.docs.js';
import { ContractAnnouncer } from './contract.announcer.js';
import { contractActor, toAnnouncement, toBid } from './contract.request.js';
import {
  BidReceiptView,
  ContractDetailView,
  ContractPage,
  ContractView,
  toContractView,
  toDetailView,
} from './contract.view.js';
import {
  ANNOUNCE_EXAMPLES,
  AnnounceBody,
  BID_EXAMPLES,
  BidBody,
  ConfirmBody,
  CONTRACT_ID,
  ContractOutcomeBody,
  ContractsQuery,
} from './contracts.dto.js';
import { Mutation, Repeatable } from '../mutation/mutation.js';
import { Caller, type Principal } from '../auth/principal.js';

const CONTRACTS = new PagedList('contracts');

@ApiTags('contracts')
@Controller('contracts')
export class ContractsController {
  constructor(
    private readonly contracts: ContractsService,
    private readonly bidding: ContractBidding,
    private readonly outcomes: ContractOutcomes,
    private readonly announcer: ContractAnnouncer,
  ) {}

  @Post()
  @Permit('contracts:announce')
  @Mutation({ audit: 'contract.announced', recordResult: { capabilities: 'capabilities', invited: 'invited' } })
  @ApiOperation({
    operationId: 'contracts.announce',
    summary: 'Announce a contract',
    description:
      'Invites all routable agents with the capabilities to bid. If there is no such agent, the contract expires immediately. ' +
      'The best bid gets the award, and its price is reserved.',
  })
  @ApiBody({ type: AnnounceBody, examples: ANNOUNCE_EXAMPLES })
  @ApiCreatedResponse({ type: ContractView, description: 'The contract.' })
  @Problems('CONTRACT_INVALID', 'INVALID_QUERY', 'DIRECTORY_STALE', 'QUOTA_EXCEEDED')
  async announce(@Body() body: AnnounceBody, @Caller() caller: Principal): Promise<ContractView> {
    return toContractView(await this.announcer.announce(caller, toAnnouncement(body, caller)));
  }

  @Get()
  @Permit('contracts:read')
  @ApiOperation({ operationId: 'contracts.list', summary: 'List contracts', description: 'Newest first.' })
  @ApiOkResponse({ type: ContractPage, description: 'A page of contracts.' })
  @Problems('CURSOR_INVALID')
  async list(@Query() query: ContractsQuery, @Caller() { namespace }: Principal): Promise<ContractPage> {
    const { limit, cursor, state: states } = query;
    const before = CONTRACTS.readCursor(cursor);
    const position = before === undefined ? undefined : Number(before);
    const rows = await this.contracts.list({ namespace, states }, limit + 1, position);
    return CONTRACTS.toPage(rows, limit, toContractView, ({ seq }) => String(seq));
  }

  @Get(':id')
  @Permit('contracts:read')
  @Limits({ kind: 'streams' })
  @ApiOperation({
    operationId: 'contracts.get',
    summary: 'Get a contract with its transcript',
    description: 'Bids are sealed until the auction closes: before that, the response has no bids.',
  })
  @ApiParam(CONTRACT_ID)
  @ApiOkResponse({ type: ContractDetailView, description: 'The contract.' })
  @Problems('CONTRACT_NOT_FOUND')
  async get(@Param('id') id: string, @Caller() { namespace }: Principal): Promise<ContractDetailView> {
    return toDetailView(await this.contracts.get({ namespace, id }));
  }

  @Post(':id/bids')
  @HttpCode(200)
  @Permit('agents:self')
  @Repeatable()
  @ApiOperation({
    operationId: 'contracts.bid',
    summary: 'Bid for a contract',
    description:
      'For an invited agent, with its lease token, the key that registered it, or the key of an operator. An agent has one bid: ' +
      'the last answer before the deadline counts. A refusal is also an answer.',
  })
  @ApiParam(CONTRACT_ID)
  @ApiBody({ type: BidBody, examples: BID_EXAMPLES })
  @ApiOkResponse({ type: BidReceiptView, description: 'The answer is accepted.' })
  @Problems('CONTRACT_NOT_FOUND', 'CONTRACT_NOT_INVITED', 'BID_INVALID', 'BID_LATE', 'BID_REVISED_TOO_OFTEN')
  @Problems('CONTRACT_CLOSED')
  @Problems('AGENT_NOT_FOUND', 'REGISTER_AGAIN', 'STALE_GENERATION', 'GENERATION_AHEAD', 'LEASE_TOKEN_REFUSED')
  @Problems('NOT_THE_OWNER')
  async bid(@Param('id') id: string, @Body() body: BidBody, @Caller() caller: Principal): Promise<BidReceiptView> {
    const claim = agentCredential(body.agentId, body.generation, caller);
    const key = { namespace: caller.namespace, id };
    const { contract, revision } = await this.bidding.bid(key, claim, toBid(body));
    return { contractId: id, revision, deadline: new Date(contract.deadline).toISOString() };
  }

  @Post(':id/confirm')
  @HttpCode(200)
  @Permit('agents:self')
  @Mutation({ audit: null })
  @ApiOperation({
    operationId: 'contracts.confirm',
    summary: 'Confirm or decline an award',
    description: 'Start the work only after the confirmation succeeded. A repeated confirmation has no effect.',
  })
  @ApiParam(CONTRACT_ID)
  @ApiOkResponse({ type: ContractView, description: 'The contract.' })
  @Problems('CONTRACT_NOT_FOUND', 'CONTRACT_NOT_INVITED', 'CONTRACT_NOT_AWARDED', 'CONTRACT_CLOSED')
  @Problems('AGENT_NOT_FOUND', 'REGISTER_AGAIN', 'STALE_GENERATION', 'GENERATION_AHEAD', 'LEASE_TOKEN_REFUSED')
  @Problems('NOT_THE_OWNER')
  async confirm(
    @Param('id') id: string,
    @Body() body: ConfirmBody,
    @Caller() caller: Principal,
  ): Promise<ContractView> {
    const claim = agentCredential(body.agentId, body.generation, caller);
    const key = { namespace: caller.namespace, id };
    const isAccepted = body.accept ?? true;
    return toContractView(await (isAccepted ? this.bidding.confirm(key, claim) : this.bidding.decline(key, claim)));
  }

  @Post(':id/cancel')
  @HttpCode(200)
  @Permit('contracts:announce')
  @Mutation({ audit: 'contract.cancelled' })
  @ApiOperation({
    operationId: 'contracts.cancel',
    summary: 'Cancel a contract',
    description:
      'Possible until the winner has confirmed. Without the role of an operator, a caller can cancel only its own contracts.',
  })
  @ApiParam(CONTRACT_ID)
  @ApiOkResponse({ type: ContractView, description: 'The cancelled contract.' })
  @Problems('CONTRACT_NOT_FOUND', 'CONTRACT_CLOSED', 'CONTRACT_FOREIGN')
  async cancel(@Param('id') id: string, @Caller() caller: Principal): Promise<ContractView> {
    return toContractView(await this.contracts.cancel({ namespace: caller.namespace, id }, contractActor(caller)));
  }

  @Post(':id/outcome')
  @HttpCode(200)
  @Permit('contracts:announce')
  @Mutation({ audit: 'contract.completed', record: ['ok'] })
  @ApiOperation({
    operationId: 'contracts.reportOutcome',
    summary: 'Report the actual cost and time of the work',
    description:
      'Settles the reservation of the award. The outcome affects the scores of later bids of the agent. The first outcome is final: ' +
      'repeating it has no effect, and another outcome is rejected. With `run`, the run reports the outcome.',
  })
  @ApiParam(CONTRACT_ID)
  @ApiOkResponse({ type: ContractView, description: 'The contract with its outcome.' })
  @Problems('CONTRACT_NOT_FOUND', 'CONTRACT_CLOSED', 'CONTRACT_FOREIGN')
  async report(
    @Param('id') id: string,
    @Body() body: ContractOutcomeBody,
    @Caller() caller: Principal,
  ): Promise<ContractView> {
    const { ok, microUsd = null, tokens = null, ms = null } = body;
    const outcome = { ok, microUsd, tokens, ms };
    return toContractView(
      await this.outcomes.record({ namespace: caller.namespace, id }, contractActor(caller), outcome),
    );
  }
}
