import { Body, Controller, Delete, HttpCode, Post } from '@nestjs/common';
import { ApiCreatedResponse, ApiNoContentResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { type NewSession, SessionsService } from '#rollcall/platform';
import { unauthenticated } from '../auth/credentials/authenticator.js';
import { Caller, type Principal } from '../auth/principal.js';
import { Permit, Public, Scope } from '../auth/route.access.js';
import { ApiError } from '../http/problems/api.error.js';
import { Problems } from '../http/problems/problem.docs.js';
import { Mutation, SelfAudited } from '../mutation/mutation.js';
import {
  ExchangeTicketBody,
  OpenSessionBody,
  SessionTicketView,
  SessionView,
  toSessionGrant,
  toSessionView,
} from './sessions.dto.js';

/** Sessions of people in a browser, so that the browser does not keep an API key. */
@ApiTags('access')
@Controller('sessions')
@Scope('any')
export class SessionsController {
  constructor(private readonly sessions: SessionsService) {}

  @Post()
  @Permit('self:read')
  @Mutation({ audit: 'session.opened', record: ['roles'] })
  @ApiOperation({
    operationId: 'sessions.open',
    summary: 'Exchange an API key for a session',
    description:
      'The session acts for the same principal, with the same or fewer permissions. It ends after 8 hours, with its API key, or with ' +
      '`DELETE /v1/sessions/current`. A key has at most 100 sessions; another one ends the oldest.',
  })
  @ApiCreatedResponse({ type: SessionView, description: 'The session with its token.' })
  async open(@Body() body: OpenSessionBody, @Caller() caller: Principal): Promise<SessionView> {
    return toSessionView(requireValid(await this.sessions.open(toSessionGrant(body, caller))));
  }

  @Delete('current')
  @Permit('self:read')
  @HttpCode(204)
  @Mutation({ audit: 'session.ended' })
  @ApiOperation({
    operationId: 'sessions.end',
    summary: 'End the session that sends this request',
    description: 'Other replicas reject the session within two seconds.',
  })
  @ApiNoContentResponse({ description: 'The session has ended.' })
  async end(@Caller() { sessionHash }: Principal): Promise<void> {
    if (sessionHash === undefined)
      throw new ApiError(
        'FORBIDDEN',
        'This credential is not a session. Send the token of the session that is to end.',
      );
    await this.sessions.end(sessionHash);
  }

  @Post('tickets')
  @Permit('self:read')
  @Mutation({ audit: 'session.ticket_issued', record: ['roles'] })
  @ApiOperation({
    operationId: 'sessions.createTicket',
    summary: 'Create a ticket that opens one session',
    description:
      'For a link to the console, `/console/#ticket=…`. The ticket is valid once, for 60 seconds, on any replica.',
  })
  @ApiCreatedResponse({ type: SessionTicketView, description: 'The ticket.' })
  async ticket(@Body() body: OpenSessionBody, @Caller() caller: Principal): Promise<SessionTicketView> {
    return await this.sessions.issueTicket(toSessionGrant(body, caller));
  }

  /** Needs no credential: the ticket is one. Its issue is audited. */
  @Post('tickets/exchange')
  @Public({ cost: 10 })
  @SelfAudited('not audited')
  @ApiOperation({ operationId: 'sessions.exchangeTicket', summary: 'Exchange a ticket for a session' })
  @ApiCreatedResponse({ type: SessionView, description: 'The session with its token.' })
  @Problems('UNAUTHENTICATED')
  async exchange(@Body() { ticket }: ExchangeTicketBody): Promise<SessionView> {
    const session = await this.sessions.exchange(ticket);
    if (session) return toSessionView(session);
    throw unauthenticated('The ticket was already used or has expired. Get a new one with POST /v1/sessions/tickets.');
  }
}

/** The key was valid when the request was authenticated, and may have been revoked since. */
function requireValid(session: NewSession | undefined): NewSession {
  if (session) return session;
  throw unauthenticated('The API key is no longer valid.');
}
