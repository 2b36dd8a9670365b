import { ConversationEntity } from '../conversations/conversation.entity.js';
import { DefinitionEntity, DefinitionRevisionEntity } from '../definitions/definition.entity.js';
import { RuntimeAgentEntity, RuntimeCommandEntity } from '../lifecycle/lifecycle.entities.js';
import { ToolPinEntity } from '../tools/mcp/tool-pin.entity.js';
import { AgentTaskEntity } from '../tasks/task.entity.js';
import { WorkspaceEntity } from '../tools/workspace/workspace.entity.js';
import { RunEntity, RunStepEntity } from '../runs/store/run.entity.js';

/** The entities of this library. They describe the tables and the types of rows; a test compares them with the migrations. */
export const RUNTIME_ENTITIES = [
  ToolPinEntity,
  DefinitionEntity,
  DefinitionRevisionEntity,
  RuntimeAgentEntity,
  RuntimeCommandEntity,
  RunEntity,
  RunStepEntity,
  ConversationEntity,
  AgentTaskEntity,
  WorkspaceEntity,
];
