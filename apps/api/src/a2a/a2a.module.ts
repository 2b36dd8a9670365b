import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/agents.module.js';
import { WebhooksModule } from '../webhooks/webhooks.module.js';
import { A2aAgents } from './a2a.agents.js';
import { A2aCalls } from './a2a.calls.js';
import { A2aServices } from './a2a.services.js';
import { CardSigner } from './card.signer.js';
import { CardsController } from './cards.controller.js';
import { MessagesController } from './messages.controller.js';
import { MessagesService } from './messages.service.js';
import { PushConfigs } from './push.configs.js';
import { PushController } from './push.controller.js';
import { PushSinks } from './push.sinks.js';
import { PushStore } from './push.store.js';
import { PublicUrl } from './public.url.js';
import { RootSkills } from './root.skills.js';
import { RpcController } from './rpc.controller.js';
import { SseStreams } from './sse.streams.js';
import { TaskPush } from './task.push.js';
import { TaskReader } from './task.reader.js';
import { TaskStream } from './task.stream.js';
import { TasksController } from './tasks.controller.js';

/** A2A 1.0. Clients send messages to Rollcall itself or to one of its agents. A task is a run. */
@Module({
  imports: [AgentsModule, WebhooksModule],
  controllers: [CardsController, RpcController, MessagesController, TasksController, PushController],
  providers: [
    A2aAgents,
    A2aCalls,
    A2aServices,
    CardSigner,
    MessagesService,
    PublicUrl,
    PushConfigs,
    PushSinks,
    PushStore,
    RootSkills,
    SseStreams,
    TaskPush,
    TaskReader,
    TaskStream,
  ],
  exports: [A2aAgents, CardSigner, PublicUrl, PushSinks],
})
export class A2aModule {}
