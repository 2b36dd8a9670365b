import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/agents.module.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { A2aHandlers } from './a2a.handler.js';
import { A2aAgents } from './cards/a2a.agents.js';
import { CardSigner } from './cards/card.signer.js';
import { CardsController } from './cards/cards.controller.js';
import { PublicUrl } from './cards/public.url.js';
import { IncomingCalls } from './incoming.calls.js';
import { MessagesService } from './messages/messages.service.js';
import { RootSkills } from './messages/root.skills.js';
import { PushConfigs, TaskPush } from './push/push.configs.js';
import { PushSinks } from './push/push.sinks.js';
import { PushStore } from './push/push.store.js';
import { A2aTasks } from './tasks/a2a.tasks.js';
import { TaskStream } from './tasks/task.stream.js';
import { A2aStreams } from './wire/a2a.streams.js';
import { MessagesController } from './wire/messages.controller.js';
import { PushController } from './wire/push.controller.js';
import { RpcController } from './wire/rpc.controller.js';
import { TasksController } from './wire/tasks.controller.js';

/** A2A 1.0. Clients send messages to Rollcall itself or to one of its agents. A task is a run. */
@Module({
  imports: [AgentsModule, WebhooksModule],
  controllers: [CardsController, RpcController, MessagesController, TasksController, PushController],
  providers: [
    A2aAgents,
    A2aHandlers,
    A2aStreams,
    A2aTasks,
    CardSigner,
    IncomingCalls,
    MessagesService,
    PublicUrl,
    PushConfigs,
    PushSinks,
    PushStore,
    RootSkills,
    TaskPush,
    TaskStream,
  ],
  exports: [A2aAgents, CardSigner, PublicUrl, PushSinks],
})
export class A2aModule {}
