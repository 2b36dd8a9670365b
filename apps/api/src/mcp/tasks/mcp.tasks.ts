import { type McpServer, MissingRequiredClientCapabilityError, type ServerContext } from '@modelcontextprotocol/server';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { isFinal, type Run, type RunDecision, RunNotFoundError, RunReader } from '#rollcall/agent-runtime';
import { textPart } from '#rollcall/providers';
import { permit } from '../../auth/auth.guard.js';
import type { Permission } from '../../auth/permissions.js';
import { RunCommands, runKeyOf } from '../../runs/run.commands.js';
import { isTaskAt } from '../../runs/run.task.js';
import { type McpCall, mcpCommandOf, supportsTasks, TASKS, toProtocolError } from '../mcp.call.js';
import { followUpsOf } from '../tools/run.result.js';
import { approvalKey, questionKey, toDetailedTask } from './task.view.js';

const PARAMS = { params: z.looseObject({ taskId: z.string().min(1).max(128) }) };
const ReplySchema = z.looseObject({
  action: z.enum(['accept', 'decline', 'cancel']),
  content: z
    .looseObject({ answer: z.string().optional(), approved: z.boolean().optional(), reason: z.string().optional() })
    .optional(),
});
const RepliesSchema = z.record(z.string(), ReplySchema);
const DECLINED = 'The user declined to answer.';
const EMPTY = {};

type Replies = z.infer<typeof RepliesSchema>;

interface Method {
  readonly name: string;
  readonly permission: Permission;
  execute(call: McpCall, run: Run, context: ServerContext): Promise<Record<string, unknown>>;
}

/** The methods of the tasks extension, for the runs that the caller sees. */
@Injectable()
export class McpTasks {
  private readonly methods: readonly Method[] = [
    {
      name: 'tasks/get',
      permission: 'runs:read',
      execute: async (call, run) => await Promise.resolve(toDetailedTask(run, followUpsOf(call))),
    },
    {
      name: 'tasks/update',
      permission: 'runs:start',
      execute: async (call, run, context) => await this.update(call, run, context),
    },
    {
      name: 'tasks/cancel',
      permission: 'runs:start',
      execute: async (call, run) => await this.cancel(call, run),
    },
  ];

  constructor(
    private readonly reader: RunReader,
    private readonly commands: RunCommands,
  ) {}

  addTo(mcp: McpServer, call: McpCall): void {
    mcp.server.registerCapabilities({ extensions: { [TASKS]: {} } });
    for (const method of this.methods) this.addMethod(mcp, call, method);
  }

  /** Rejects with RUN_NOT_FOUND if the run does not exist, or is not a task that the caller may see. */
  async get(call: McpCall, id: string): Promise<Run> {
    const run = await this.reader.get(runKeyOf(call.caller, id));
    if (!isTaskAt(run, call.agent?.agentId)) throw new RunNotFoundError(id);
    return run;
  }

  private addMethod(mcp: McpServer, call: McpCall, { name, permission, execute }: Method): void {
    mcp.server.setRequestHandler(name, PARAMS, async ({ taskId }, context) => {
      if (!supportsTasks(context)) throw needsTasks();
      try {
        permit(call.caller, permission);
        return await execute(call, await this.get(call, taskId), context);
      } catch (error) {
        throw toProtocolError(error, call.request.id);
      }
    });
  }

  /** Responses to questions other than the current ones are ignored, as the specification requires. */
  private async update(call: McpCall, run: Run, { mcpReq }: ServerContext): Promise<Record<string, unknown>> {
    const replies = RepliesSchema.safeParse(mcpReq.inputResponses ?? {}).data ?? {};
    const command = mcpCommandOf(call);
    const answer = run.waitingFor === 'input' ? answerIn(replies[questionKey(run)]) : undefined;
    if (answer !== undefined) await this.commands.continue(command, run.id, { parts: [textPart(answer)] });
    for (const decision of decisionsIn(run, replies)) await this.commands.decide(command, run.id, decision);
    return EMPTY;
  }

  private async cancel(call: McpCall, run: Run): Promise<Record<string, unknown>> {
    if (!isFinal(run.state)) await this.commands.cancel(mcpCommandOf(call), run.id);
    return EMPTY;
  }
}

export function needsTasks(): MissingRequiredClientCapabilityError {
  return new MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [TASKS]: {} } } });
}

function answerIn(reply: Replies[string] | undefined): string | undefined {
  if (!reply || reply.action === 'cancel') return undefined;
  return reply.action === 'decline' ? DECLINED : reply.content?.answer;
}

function decisionsIn({ result }: Run, replies: Replies): RunDecision[] {
  return (result?.approvals ?? []).flatMap(({ callId, inputHash }) => {
    const reply = replies[approvalKey(callId, inputHash)];
    if (!reply || reply.action === 'cancel') return [];
    const { approved = false, reason } = reply.action === 'accept' ? (reply.content ?? {}) : {};
    return [{ callId, inputHash, approved, ...(reason !== undefined && { reason }) }];
  });
}
