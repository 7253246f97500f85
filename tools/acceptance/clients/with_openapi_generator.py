"""openapi-generator, python. NDJSON goes through the underlying request function with the generated
URL and headers, because the generated body is JSON."""

import roster_api
import scenario
from roster_api import models


class Client:
    def __init__(self):
        settings = roster_api.Configuration(host=scenario.URL, access_token=scenario.KEY)
        self.users = roster_api.UsersApi(roster_api.ApiClient(settings))

    @staticmethod
    def call(function, *arguments, **named):
        try:
            return function(*arguments, **named)
        except roster_api.ApiException as error:
            raise scenario.Refused(error.data) from error

    def create(self, body):
        return self.call(self.users.create_user, models.UserCreate.from_dict(body))

    def get(self, user_id):
        return self.call(self.users.get_user, user_id)

    def list(self, **query):
        return self.call(self.users.list_users, **query)

    def replace(self, user_id, if_match, body):
        body = models.UserReplace.from_dict(body)
        return self.call(self.users.replace_user, user_id, body, if_match=if_match)

    def patch(self, user_id, body, **query):
        # from_dict would send null for each member that is not given.
        body = models.UserPatch.model_validate(body)
        return self.call(self.users.patch_user, user_id, body, **query)

    def remove(self, user_id):
        self.call(self.users.delete_user, user_id)

    def import_lines(self, text):
        parameters = (
            "user_create", "on_conflict", "match", "keep_ids", "dry_run", "idempotency_key", "prefer",
        )  # fmt: skip
        method, url, headers, _, post = self.users._create_user_serialize(
            **dict.fromkeys(parameters), _request_auth=None, _headers=None, _host_index=0,
            _content_type="application/x-ndjson",
        )  # fmt: skip
        headers["Accept"] = "application/x-ndjson"
        response = self.users.api_client.call_api(method, url, headers, text, post)
        return response.read().decode()


CLASSES = {
    "user": models.User,
    "page": models.UserList,
    "problem": models.Problem,
    "body": models.UserCreate,
}

if __name__ == "__main__":
    scenario.main("openapi-generator python", Client(), CLASSES, models)
