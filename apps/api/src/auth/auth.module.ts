import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Database } from '#rollcall/platform';
import { LeaseTokenStore } from '#rollcall/registry';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { TrustedProxies } from '../http/server/trusted-proxies.js';
import { KeysModule } from '../keys/keys.module.js';
import { CallerLimits } from '../limits/caller.limits.js';
import { FairTurns } from '../limits/fair.turns.js';
import { AuthGuard } from './auth.guard.js';
import { Authenticator } from './credentials/authenticator.js';
import { CredentialWatch } from './credentials/credential.watch.js';
import { LeaseTokenVerifier } from './credentials/lease-token.verifier.js';
import { NamespaceResolver } from './credentials/namespace.resolver.js';
import { OidcVerifier } from './credentials/oidc.verifier.js';
import { MeController } from './me.controller.js';
import { RouteAdmission } from './route.admission.js';
import { SocketAccess } from './sockets/socket.access.js';

@Module({
  imports: [KeysModule],
  controllers: [MeController],
  providers: [
    Authenticator,
    NamespaceResolver,
    { provide: OidcVerifier, inject: [CONFIG], useFactory: ({ auth }: Config) => new OidcVerifier(auth) },
    {
      provide: LeaseTokenVerifier,
      inject: [Database, LeaseTokenStore],
      useFactory: (db: Database, tokens: LeaseTokenStore) => new LeaseTokenVerifier(db, tokens),
    },
    FairTurns,
    CallerLimits,
    {
      provide: TrustedProxies,
      inject: [CONFIG],
      useFactory: ({ http }: Config) => new TrustedProxies(http.trustedProxies),
    },
    RouteAdmission,
    AuthGuard,
    { provide: APP_GUARD, useExisting: AuthGuard },
    CredentialWatch,
    SocketAccess,
  ],
  exports: [RouteAdmission, AuthGuard, Authenticator, CredentialWatch, SocketAccess],
})
export class AuthModule {}
