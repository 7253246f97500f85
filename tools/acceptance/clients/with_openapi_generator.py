"""openapi-generator, python. The lines of a response are read as they are, because the generated
model of a response must be JSON or a text of type text."""

import roster_api
import scenario
from roster_api import models


class Client:
    def __init__(self):
        settings = roster_api.Configuration(host=scenario.URL, access_token=scenario.KEY)
        http = roster_api.ApiClient(settings)
        self.users, self.bulk = roster_api.UsersApi(http), roster_api.BulkApi(http)

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
        return self.bulk.import_users_without_preload_content(text).read().decode()


CLASSES = {
    "user": models.User,
    "page": models.UserList,
    "problem": models.Problem,
    "body": models.UserCreate,
}

if __name__ == "__main__":
    scenario.main("openapi-generator python", Client(), CLASSES, models)
