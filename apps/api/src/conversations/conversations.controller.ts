import { Controller, Delete, Get, HttpCode, Param, Query } from '@nestjs/common';
import {
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  type ApiParamOptions,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import { type ConversationQuery, ConversationsService } from '#rollcall/agent-runtime';
import { Caller, type Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { PageQuery } from '../http/page.js';
import { Problems } from '../http/problems/problem.docs.js';
import { Limits } from '../http/server/routes.js';
import { Mutation } from '../mutation/mutation.js';
import { runActorOf, visibleRuns } from '../runs/run.commands.js';
import {
  ConversationOwnerQuery,
  ConversationPageView,
  ConversationReadQuery,
  CONVERSATION_RUNS,
  CONVERSATIONS,
  ConversationView,
  toConversationView,
  toSummaryView,
} from './conversation.view.js';

const ID: ApiParamOptions = { name: 'id', description: 'The id of the conversation.', example: 'release-notes' };

/** A conversation begins with the first run that names it: `conversationId` of POST /v1/runs. */
@ApiTags('conversations')
@Controller('conversations')
export class ConversationsController {
  constructor(private readonly conversations: ConversationsService) {}

  @Get()
  @Permit('runs:read')
  @ApiOperation({
    operationId: 'conversations.list',
    summary: 'List conversations',
    description:
      'The newest conversations come first. With the permission `runs:read-all`, all conversations of the namespace; without it, your own.',
  })
  @ApiOkResponse({ type: ConversationPageView, description: 'A page of conversations.' })
  @Problems('CURSOR_INVALID')
  async list(@Query() { limit, cursor }: PageQuery, @Caller() caller: Principal): Promise<ConversationPageView> {
    const before = CONVERSATIONS.readCursor(cursor);
    const rows = await this.conversations.list(
      visibleRuns(caller),
      limit + 1,
      before === undefined ? undefined : Number(before),
    );
    return CONVERSATIONS.toPage(rows, limit, toSummaryView, ({ seq }) => String(seq));
  }

  @Get(':id')
  @Permit('runs:read')
  @Limits({ kind: 'streams' })
  @ApiOperation({
    operationId: 'conversations.get',
    summary: 'Get a conversation with its messages and its cost',
    description: 'A page of its runs, newest first, each with its messages. A page of large runs ends at 1 MB.',
  })
  @ApiParam(ID)
  @ApiOkResponse({ type: ConversationView, description: 'The conversation.' })
  @Problems('CONVERSATION_NOT_FOUND', 'CURSOR_INVALID')
  async get(
    @Param('id') id: string,
    @Query() { limit, cursor, createdBy }: ConversationReadQuery,
    @Caller() caller: Principal,
  ): Promise<ConversationView> {
    const before = CONVERSATION_RUNS.readCursor(cursor);
    const query = queryOf(caller, id, createdBy);
    const reading = await this.conversations.read(query, limit + 1, before === undefined ? undefined : Number(before));
    return toConversationView(reading, limit);
  }

  @Delete(':id')
  @HttpCode(204)
  @Permit('runs:start')
  @Mutation({ audit: 'conversation.deleted' })
  @ApiOperation({
    operationId: 'conversations.delete',
    summary: 'Delete a conversation',
    description:
      'Cancels its unfinished runs, and removes the contents of all its runs within seconds, as retention does: inputs, answers, texts of ' +
      'models, and arguments and results of tools. A later run with the same id begins a new conversation. Without the permission ' +
      '`runs:manage`, the conversation must be your own.',
  })
  @ApiParam(ID)
  @ApiNoContentResponse({ description: 'The conversation is deleted.' })
  @Problems('CONVERSATION_NOT_FOUND', 'CONVERSATION_FOREIGN')
  async delete(
    @Param('id') id: string,
    @Query() { createdBy }: ConversationOwnerQuery,
    @Caller() caller: Principal,
  ): Promise<void> {
    await this.conversations.remove(queryOf(caller, id, createdBy), runActorOf(caller));
  }
}

function queryOf(caller: Principal, id: string, createdBy: string | undefined): ConversationQuery {
  return { ...visibleRuns(caller), id, by: caller.owner, ...(createdBy !== undefined && { createdBy }) };
}
